// Package explain tells what a rule means in practice: what an outcome leads to,
// when, why, what would change it and at which risk.
//
// [Explain] answers a [Question] with a [Page], a value that can be written as
// JSON, and [Page.Text] lays a page out for a terminal of a given width; [Table]
// has all outcomes, one a line. Nothing is printed, coloured or read here.
//
// The words stand in subject.go and its neighbours, one entry an outcome;
// everything that depends on a rule or a time is computed, so that a page is right
// for any statemap.
package explain
