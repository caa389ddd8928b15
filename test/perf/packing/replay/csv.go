package replay

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Header is the first line of what WriteCSV writes.
const Header = "seq,pod,node,devices,milli,status"

// WriteCSV writes a line for each arrival: seq from 0, devices as indices with ";"
// between them, milli in thousandths of each device (what a failed pod asked for), status
// "placed" or "failed". A failed pod has no node, a pod without devices none and milli 0.
func (r *Result) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(strings.Split(Header, ",")) // Error returns what went wrong
	for i := range r.Rows {
		row := &r.Rows[i]
		status := "placed"
		if row.Node == "" {
			status = "failed"
		}
		devices := make([]string, len(row.Devices))
		for d, index := range row.Devices {
			devices[d] = strconv.Itoa(index)
		}
		_ = out.Write([]string{
			strconv.Itoa(row.Seq), row.Pod, row.Node, strings.Join(devices, ";"),
			strconv.FormatInt(row.Milli, 10), status,
		})
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing the placements: %w", err)
	}
	return nil
}
