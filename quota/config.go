package quota

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/strictyaml"
)

const (
	// maxText bounds what Parse reads, in bytes: a ConfigMap holds no more.
	maxText = 1 << 20
	// maxErrors is how many errors are told at once.
	maxErrors = 50
	// maxMessage bounds the message of an error about text that cannot be decoded.
	maxMessage = 1 << 10
	// hashLength is how many hexadecimal digits of the digest name a configuration.
	hashLength = 12
)

// Config is a valid configuration. It is immutable; a nil one has no teams.
type Config struct {
	teams   map[string]v1alpha1.Team
	classes Classes
	hash    string
}

var _ accelerator.Classes = &Config{}

// Parse reads quota.yaml. Unknown fields, and then every value that is not valid, are
// reported with their paths and what is valid there. Empty text is refused: it is rather a
// mistake than the end of all teams.
func Parse(text []byte) (*Config, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("decoding the quota configuration: it has %d bytes; at most %d are read", len(text), maxText)
	}
	if blank(text) {
		return nil, errors.New("decoding the quota configuration: it is empty; write \"teams: []\" to have no teams")
	}
	if errs := badQuantities(text); len(errs) > 0 {
		return nil, fmt.Errorf("decoding the quota configuration: %w", aggregate(errs))
	}
	var in v1alpha1.QuotaConfig
	if err := strictyaml.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("decoding the quota configuration: %w", brief(err))
	}
	if errs := validate(&in); len(errs) > 0 {
		return nil, fmt.Errorf("validating the quota configuration: %w", aggregate(errs))
	}
	return newConfig(&in)
}

// blank tells whether the text has no content: nothing, comments, or null.
func blank(text []byte) bool {
	var content any
	return yaml.Unmarshal(text, &content) == nil && content == nil
}

func newConfig(in *v1alpha1.QuotaConfig) (*Config, error) {
	c := &Config{teams: make(map[string]v1alpha1.Team, len(in.Teams)), classes: in.Classes}
	for _, team := range in.Teams {
		if team.Policy == "" {
			team.Policy = v1alpha1.QuotaReject
		}
		slices.Sort(team.Groups)
		c.teams[team.Name] = team
	}
	canonical, err := json.Marshal(v1alpha1.QuotaConfig{Teams: c.Teams(), Classes: c.classes})
	if err != nil {
		return nil, fmt.Errorf("hashing the quota configuration: %w", err)
	}
	c.hash = fmt.Sprintf("%x", sha256.Sum256(canonical))[:hashLength]
	return c, nil
}

// Team returns the named team, with its policy never empty. What it refers to must not
// be changed.
func (c *Config) Team(name string) (v1alpha1.Team, bool) {
	if c == nil {
		return v1alpha1.Team{}, false
	}
	team, ok := c.teams[name]
	return team, ok
}

// Teams returns all teams in order of name, as Team does.
func (c *Config) Teams() []v1alpha1.Team {
	if c == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(c.teams), func(a, b v1alpha1.Team) int { return strings.Compare(a.Name, b.Name) })
}

// Classes returns what the configuration says about classes. It must not be changed.
func (c *Config) Classes() Classes {
	if c == nil {
		return nil
	}
	return c.classes
}

// Known tells whether the configuration names the class, as accelerator.Classes has it.
func (c *Config) Known(class string) bool { return c.Classes().Known(class) }

// Hash identifies the content: 12 hexadecimal digits of its SHA-256, which neither
// order, comments nor another spelling of an amount change.
func (c *Config) Hash() string {
	if c == nil {
		return ""
	}
	return c.hash
}

// Classes says what one unit of a class counts as. A ledger holds it as well, so that
// whoever reads the ledger agrees with who wrote it, whatever configuration either has.
type Classes map[string]v1alpha1.AcceleratorClass

var _ accelerator.Classes = Classes{}

// Known tells whether the class is listed, as accelerator.Classes has it.
func (c Classes) Known(class string) bool {
	_, ok := c[class]
	return ok
}

// aggregate is all errors in one, the first of them in full.
func aggregate(errs field.ErrorList) error {
	if len(errs) <= maxErrors {
		return errs.ToAggregate()
	}
	return fmt.Errorf("%w, and %d more", errs[:maxErrors].ToAggregate(), len(errs)-maxErrors)
}

// brief bounds the message of a decoder, which quotes what it read.
func brief(err error) error {
	message := err.Error()
	if len(message) <= maxMessage {
		return err
	}
	return errors.New(strings.ToValidUTF8(message[:maxMessage], "") + "...")
}
