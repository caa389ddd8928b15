package strictyaml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type team struct {
	Name   string           `json:"name"`
	Limits map[string]int64 `json:"limits"`
	Idle   bool             `json:"idle"`
}

type config struct {
	Teams []team `json:"teams"`
	Share *int64 `json:"share"`
}

func TestUnmarshal(t *testing.T) {
	var many strings.Builder
	for i := range 60 {
		many.WriteString(strings.Repeat("x", i+1) + ": 1\n")
	}
	tests := map[string]struct {
		text string
		want config
		// wantErrors are lines of the error.
		wantErrors []string
	}{
		"valid":                   {text: "teams: [{name: a, limits: {gpu: 2}}]", want: config{Teams: []team{{Name: "a", Limits: map[string]int64{"gpu": 2}}}}},
		"nothing":                 {text: ""},
		"a field that is unknown": {text: "teams: [{name: a}, {nam: b}]", wantErrors: []string{`unknown field "teams[1].nam"`}},
		"all of them":             {text: "team: 1\nteams: [{polcy: x}]", wantErrors: []string{`unknown field "team"`, `unknown field "teams[0].polcy"`}},
		"another case":            {text: "Teams: []", wantErrors: []string{`unknown field "Teams"`}},
		"twice":                   {text: "teams: []\nteams: []", wantErrors: []string{`key "teams" already set in map`}},
		"text for a number":       {text: "teams: [{limits: {gpu: lots}}]", wantErrors: []string{"teams.limits: is text, expected a whole number"}},
		"a fraction":              {text: "teams: [{limits: {gpu: 0.5}}]", wantErrors: []string{"teams.limits: is a number 0.5, expected a whole number"}},
		"text for a list":         {text: "teams: hello", wantErrors: []string{"teams: is text, expected a list"}},
		"text for fields":         {text: "teams: [hello]", wantErrors: []string{"teams: is text, expected fields with values"}},
		"a list for all":          {text: "[1]", wantErrors: []string{"the whole: is a list, expected fields with values"}},
		"a number for a truth":    {text: "teams: [{idle: 3}]", wantErrors: []string{"teams.idle: is a number, expected true or false"}},
		// YAML reads them otherwise than they are written: as true, and as 815.
		"y for text":              {text: "teams: [{name: y}]", wantErrors: []string{"teams.name: is true or false, expected text; put it in quotes"}},
		"a number for text":       {text: "teams: [{name: 0815}]", wantErrors: []string{"teams.name: is a number, expected text; put it in quotes"}},
		"behind a pointer":        {text: "share: x", wantErrors: []string{"share: is text, expected a whole number"}},
		"no YAML":                 {text: "\t", wantErrors: []string{"found character that cannot start any token"}},
		"more than anybody reads": {text: many.String(), wantErrors: []string{"and 10 more"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got config
			err := Unmarshal([]byte(test.text), &got)
			if (err != nil) != (test.wantErrors != nil) {
				t.Fatalf("error %v", err)
			}
			for _, want := range test.wantErrors {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
			if diff := cmp.Diff(test.want, got); err == nil && diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}
