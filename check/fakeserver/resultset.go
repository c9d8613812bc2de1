package fakeserver

import (
	"encoding/binary"
)

// null is a value that is no value in a row of [resultSet].
const null = "\x00NULL"

// resultSet is a whole answer of text columns as it goes over the wire, in one
// piece: one write a statement instead of one a packet.
func resultSet(columns []string, rows ...[]string) []byte {
	var w wire
	w.packet(appendLength(nil, uint64(len(columns))))
	for _, name := range columns {
		b := append([]byte{3}, "def"...)
		b = append(b, 0, 0, 0)
		b = appendText(b, name)
		w.packet(append(b, 0, 12, 45, 0, 0xff, 0, 0, 0, 253, 0, 0, 0, 0, 0))
	}
	w.packet([]byte{0xfe, 0, 0, 2, 0})
	for _, row := range rows {
		var b []byte
		for _, v := range row {
			if v == null {
				b = append(b, 0xfb)
				continue
			}
			b = appendText(b, v)
		}
		w.packet(b)
	}
	w.packet([]byte{0xfe, 0, 0, 2, 0})
	return w.bytes
}

// wire collects the packets of an answer to a command, which was packet 0.
type wire struct {
	bytes []byte
	seq   byte
}

func (w *wire) packet(body []byte) {
	w.seq++
	w.bytes = append(w.bytes, byte(len(body)), byte(len(body)>>8), byte(len(body)>>16), w.seq)
	w.bytes = append(w.bytes, body...)
}

// appendLength appends a length-encoded integer (MySQL protocol).
func appendLength(b []byte, n uint64) []byte {
	switch {
	case n < 251:
		return append(b, byte(n))
	case n < 1<<16:
		return binary.LittleEndian.AppendUint16(append(b, 0xfc), uint16(n))
	default:
		return append(b, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
}

func appendText(b []byte, s string) []byte { return append(appendLength(b, uint64(len(s))), s...) }
