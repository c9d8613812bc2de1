package check

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

// First bytes of the packets that answer a login (Protocol::AuthSwitchRequest,
// AuthMoreData, OK_Packet, ERR_Packet).
const (
	packetOK       = 0x00
	packetMoreData = 0x01
	packetSwitch   = 0xfe
	packetError    = 0xff
)

// maxLoginPacket is the longest answer to a login that is read, in bytes; the
// longest real one holds an RSA key.
const maxLoginPacket = 64 << 10

// checkLoginPacket reports whether the driver can read the body of a packet that
// answers a login: it indexes past the end of malformed ones and would leave a
// goroutine behind each time.
func checkLoginPacket(body []byte) error {
	malformed := func(what string) error {
		return fmt.Errorf("%w: malformed %s in answer to the login", errNotMySQL, what)
	}
	if len(body) == 0 {
		return malformed("packet without a body")
	}
	switch body[0] {
	case packetOK:
		rest := body[1:]
		for range 2 { // affected rows, last insert id
			n := lengthOfInteger(rest)
			if n == 0 || n > len(rest) {
				return malformed("OK")
			}
			rest = rest[n:]
		}
		if len(rest) < 2 {
			return malformed("OK")
		}
	case packetMoreData:
		block, _ := pem.Decode(body[1:])
		if block == nil {
			return nil
		}
		if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			if _, ok := key.(*rsa.PublicKey); !ok {
				return malformed("public key")
			}
		}
	case packetSwitch:
		name, scramble, ok := bytes.Cut(body[1:], []byte{0})
		if ok && string(name) == "mysql_native_password" && len(bytes.TrimSuffix(scramble, []byte{0})) < 20 {
			return malformed("scramble")
		}
	case packetError:
		if len(body) < 4 || body[3] == '#' && len(body) < 9 {
			return malformed("error")
		}
	}
	return nil
}

// lengthOfInteger is the length of a length-encoded integer by its first byte;
// 0 if b does not begin with one.
func lengthOfInteger(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case 0xfc:
		return 3
	case 0xfd:
		return 4
	case 0xfe:
		return 9
	}
	return 1
}
