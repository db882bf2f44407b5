package pki

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"io"
	"net"
	"regexp"
	"strings"

	"drover/noun/fault"
)

// Token is a join token: a secret to be used once, and the digest of the
// authority that the joining machine must find. Its text is
// drover-1-<secret>-<digest>, followed by @host:port when it is printed.
type Token struct {
	Secret string // 26 letters and digits, base32 of 16 bytes
	Digest string // see Digest
	Server string // host:port; empty in a token without one
}

var secretText = base32.StdEncoding.WithPadding(base32.NoPadding)

var tokenShape = regexp.MustCompile(`^drover-1-([A-Z2-7]{26})-([0-9a-f]{32})(?:@(.+))?$`)

// NewToken makes a token with a fresh secret.
func NewToken(digest, server string, random io.Reader) (Token, error) {
	var secret [16]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return Token{}, err
	}
	return Token{Secret: secretText.EncodeToString(secret[:]), Digest: digest, Server: server}, nil
}

// String is the token's text. It is a secret.
func (t Token) String() string {
	s := "drover-1-" + t.Secret + "-" + t.Digest
	if t.Server != "" {
		s += "@" + t.Server
	}
	return s
}

// Hash is what the cluster stores of the token.
func (t Token) Hash() string {
	sum := sha256.Sum256([]byte(t.Secret))
	return hex.EncodeToString(sum[:])
}

// ParseToken reads a token's text. The error never repeats the text.
func ParseToken(text string) (Token, error) {
	m := tokenShape.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Token{}, fault.New(fault.Invalid, "that is not a join token").Coded(fault.CodeBadToken).
			Why("a token looks like drover-1-SECRET-DIGEST@HOST:PORT").
			Try("drover join-token")
	}
	if m[3] != "" {
		if _, _, err := net.SplitHostPort(m[3]); err != nil {
			return Token{}, fault.New(fault.Invalid, "the join token names no usable server").Coded(fault.CodeBadToken).
				Why("%q is not HOST:PORT", m[3]).Try("drover join-token")
		}
	}
	return Token{Secret: m[1], Digest: m[2], Server: m[3]}, nil
}
