package store

import (
	"bytes"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

var (
	encMode = must(cbor.EncOptions{Sort: cbor.SortCanonical}.UserBufferEncMode())
	decMode = must(cbor.DecOptions{MaxNestedLevels: 32, MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 20}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) //nolint:forbidigo // of constants, and of a log that cannot fail
	}
	return v
}

func encodeRow(into *bytes.Buffer, row any) error { return encMode.MarshalToBuffer(row, into) }

func decodeRow(version uint8, data []byte, into any) error {
	if err := decMode.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode row (encoding version %d): %w", version, err)
	}
	return nil
}
