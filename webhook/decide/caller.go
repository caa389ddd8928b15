package decide

import "slices"

// Exemptions are the callers whose pods are let through: neither stamped nor refused.
// What they hold in a team's namespace counts against the team, as of the next count.
// They are known by what the API server says of them, which no pod can forge.
type Exemptions struct {
	// Users are full names, such as system:serviceaccount:NAMESPACE:NAME.
	Users []string
	// Groups are full names of groups.
	Groups []string
}

// Exempt tells whether the caller is let through.
func (e Exemptions) Exempt(user string, groups []string) bool {
	return slices.Contains(e.Users, user) ||
		slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(e.Groups, group) })
}
