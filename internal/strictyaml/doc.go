// Package strictyaml decodes what people write, and says what is wrong with it in their
// words.
//
// It provides Unmarshal: every field that does not exist and every field that is given
// twice is named with its path, and a value of the wrong kind with what was expected. It
// does not judge values.
//
// Quota, prices, grading and plugin arguments are read with it. Start reading at
// Unmarshal.
package strictyaml
