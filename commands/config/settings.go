package config

import (
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// rank orders the sources of a setting; the higher one wins.
type rank int

const (
	fromDefault rank = iota
	fromProfile
	fromDefaults // the file's block defaults
	fromCluster  // the cluster's own block, or the top of the file
	fromAdHoc    // what a cluster given by flags alone is unless told otherwise
	fromEnvironment
	fromFlag
)

// origin is who set a setting.
type origin struct {
	rank  rank
	place place
}

func (o origin) String() string {
	if o.rank == fromDefault {
		return "default"
	}
	return o.place.String()
}

// layer is what one source sets: parsed values by key, and blocks as they stand
// in the file.
type layer struct {
	rank   rank
	values map[string]any
	blocks map[string]*yaml.Node
	places map[string]place
}

func newLayer(r rank) *layer {
	return &layer{rank: r, values: map[string]any{}, blocks: map[string]*yaml.Node{}, places: map[string]place{}}
}

func (l *layer) set(key string, v any, at place) {
	l.values[key], l.places[key] = v, at
}

// settings are layers on top of each other.
type settings struct {
	values  map[string]any
	blocks  map[string]*yaml.Node
	origins map[string]origin
}

// stack merges the layers, the last one on top.
func stack(layers ...*layer) *settings {
	s := &settings{values: map[string]any{}, blocks: map[string]*yaml.Node{}, origins: map[string]origin{}}
	for _, l := range layers {
		if l == nil {
			continue
		}
		maps.Copy(s.values, l.values)
		maps.Copy(s.blocks, l.blocks)
		for key, at := range l.places {
			s.origins[key] = origin{rank: l.rank, place: at}
		}
	}
	return s
}

// top is a key's value in the highest layer that has it.
func top(key string, layers ...*layer) any {
	for _, l := range slices.Backward(layers) {
		if l != nil {
			if v, found := l.values[key]; found {
				return v
			}
		}
	}
	return nil
}

func (s *settings) text(key string) string { return valueOf[string](s, key) }

func (s *settings) flag(key string) bool { return valueOf[bool](s, key) }

func (s *settings) count(key string) int { return valueOf[int](s, key) }

func (s *settings) list(key string) []string { return valueOf[[]string](s, key) }

func (s *settings) duration(key string) time.Duration { return valueOf[time.Duration](s, key) }

// valueOf is a key's value, which [Key.parse] gave its type; the zero value if it
// is not set.
func valueOf[T any](s *settings, key string) T {
	v, _ := s.values[key].(T)
	return v
}

// origin is who set the key; the zero origin is the default.
func (s *settings) origin(key string) origin { return s.origins[key] }
