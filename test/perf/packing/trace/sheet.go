package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

const (
	// maxErrors is how many bad values of a file an error names.
	maxErrors = 20
	// maxNumber keeps sums over a file far from the end of int64.
	maxNumber = 1_000_000_000_000
)

// record is one line of a CSV with a header. Its methods note what is wrong in place of
// returning it, so that one pass finds everything.
type record struct {
	sheet  *sheet
	fields []string
	line   int
}

type sheet struct {
	path    string
	columns map[string]int
	faults  []error
}

// readSheet calls row for every line below the header of the file.
func readSheet(path string, required []string, row func(*record)) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening a trace file: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	s := &sheet{path: path}
	reader := csv.NewReader(file)
	if err := s.header(reader, required); err != nil {
		return err
	}
	rows := 0
	for len(s.faults) < maxErrors {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.faults = append(s.faults, fmt.Errorf("reading %s: %w", path, err))
			break
		}
		line, _ := reader.FieldPos(0)
		row(&record{sheet: s, fields: fields, line: line})
		rows++
	}
	if rows == 0 && len(s.faults) == 0 {
		return fmt.Errorf("reading %s: no line below the header; give at least one", path)
	}
	return errors.Join(s.faults...)
}

func (s *sheet) header(reader *csv.Reader, required []string) error {
	names, err := reader.Read()
	if err != nil {
		return fmt.Errorf("reading the header of %s, which must have the columns %s: %w", s.path, strings.Join(required, ","), err)
	}
	s.columns = make(map[string]int, len(names))
	for i, name := range names {
		if i == 0 {
			name = strings.TrimPrefix(name, "\ufeff") // what some editors put first
		}
		if _, ok := s.columns[name]; ok {
			return fmt.Errorf("reading %s: line 1 has the column %q twice; leave one", s.path, name)
		}
		s.columns[name] = i
	}
	var faults []error
	for _, name := range required {
		if _, ok := s.columns[name]; !ok {
			faults = append(faults, fmt.Errorf("reading %s: line 1 lacks the column %q; add it", s.path, name))
		}
	}
	return errors.Join(faults...)
}

// fault notes that a value is wrong.
func (r *record) fault(column, value, fix string) {
	r.sheet.faults = append(r.sheet.faults,
		fmt.Errorf("reading %s: line %d, column %s: %q is wrong: %s", r.sheet.path, r.line, column, value, fix))
}

// optional returns the value, "" where the file has no such column.
func (r *record) optional(column string) string {
	if i, ok := r.sheet.columns[column]; ok {
		return r.fields[i]
	}
	return ""
}

// text returns a value that must not be empty.
func (r *record) text(column string) string {
	value := r.optional(column)
	if value == "" {
		r.fault(column, value, "give a name")
	}
	return value
}

// number returns a whole number from least to most.
func (r *record) number(column string, least, most int64) int64 {
	text := r.optional(column)
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < least || value > most {
		r.fault(column, text, fmt.Sprintf("give a whole number from %d to %d", least, most))
		return 0
	}
	return value
}

// unique notes a value that an earlier line has; lines is what came before.
func (r *record) unique(column string, lines map[string]int) {
	value := r.optional(column)
	if first, ok := lines[value]; ok {
		r.fault(column, value, fmt.Sprintf("line %d has it already; give another name", first))
		return
	}
	lines[value] = r.line
}
