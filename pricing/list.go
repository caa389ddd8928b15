package pricing

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// The list that is built in. An empty price is not known.
//
//go:embed data/prices.csv
var priceTable string

const listHeader = "provider,instance_type,accelerator_product,count,mem_gib,usd_per_hour,region,source,source_date"

// listRow is the price of an hour of one instance type in one region.
type listRow struct {
	provider, instanceType, region string
	// product is spelt as nvidia.com/gpu.product has it, with the memory where that
	// tells sizes apart.
	product string
	// devices is how many devices the instance has; 1 where it has a part of one, which
	// is all that it can give.
	devices int64
	// micros are micro-dollars per hour, 0 where the price is not known.
	micros           int64
	name             string
	source, readDate string
}

// priceList is the built-in list by instance type, rows in the order of the file.
type priceList map[string][]listRow

// builtInList reads the embedded list once.
var builtInList = sync.OnceValues(func() (priceList, error) { return loadList(priceTable) })

// builtIn is the embedded list. The tests prove that it can be read.
func builtIn() priceList {
	list, err := builtInList()
	if err != nil {
		panic(err)
	}
	return list
}

func loadList(text string) (priceList, error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading the price list: %w", err)
	}
	if len(records) == 0 || strings.Join(records[0], ",") != listHeader {
		return nil, fmt.Errorf("reading the price list: the header must be %s", listHeader)
	}
	list := priceList{}
	for i, record := range records[1:] {
		row, err := listRowOf(record)
		if err != nil {
			return nil, fmt.Errorf("reading line %d of the price list: %w", i+2, err)
		}
		list[row.instanceType] = append(list[row.instanceType], row)
	}
	return list, nil
}

func listRowOf(record []string) (listRow, error) {
	row := listRow{
		provider: record[0], instanceType: record[1], region: record[6], source: record[7], readDate: record[8],
		product: record[2] + "-" + record[4] + "GB",
		name:    "built-in list: " + record[0] + " " + record[1] + " " + record[6],
	}
	count, err := strconv.ParseFloat(record[3], 64)
	if err != nil || !(count > 0 && count < 1 || count >= 1 && count == float64(int64(count))) {
		return row, fmt.Errorf("count %q must be a positive integer or a part of one device", record[3])
	}
	row.devices = max(int64(count), 1)
	if record[5] == "" {
		return row, nil
	}
	if row.micros, err = ParseAmount(record[5]); err != nil {
		return row, fmt.Errorf("price %q: %w", record[5], err)
	}
	if row.micros == 0 {
		return row, fmt.Errorf("price %q must not be zero; leave out what is not known", record[5])
	}
	return row, nil
}

// find returns the row of the instance type in the region and whether it is that
// region's. For a region that is not listed it is the dearest of the others, of equals
// the first in the file: an estimate that is wrong should not be too low.
func (l priceList) find(instanceType, region string) (row *listRow, exact bool) {
	rows := l[instanceType]
	for i := range rows {
		if rows[i].region == region {
			return &rows[i], true
		}
		if row == nil || rows[i].micros > row.micros {
			row = &rows[i]
		}
	}
	return row, false
}
