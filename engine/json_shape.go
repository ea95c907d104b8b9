package engine

import "encoding/json"

// jsonForm is what a value of JSON is.
type jsonForm string

const (
	jsonText   jsonForm = "a string"
	jsonNumber jsonForm = "a number"
	jsonTruth  jsonForm = "a truth value"
	jsonObject jsonForm = "an object"
	jsonList   jsonForm = "a list"
	jsonNull   jsonForm = "null"
)

func formOf(token json.Token) jsonForm {
	switch token := token.(type) {
	case string:
		return jsonText
	case json.Number:
		return jsonNumber
	case bool:
		return jsonTruth
	case json.Delim:
		if token == '[' {
			return jsonList
		}
		return jsonObject
	}
	return jsonNull
}

// shape is a key of an object and what stands behind it.
type shape struct {
	// key is the name in JSON, name that of the element; of a list it is the
	// name of each item.
	key, name string
	form      jsonForm
	// inner are the keys of an object, or of each object of a list.
	inner []shape
}

// of is the shape of a key inside.
func (s shape) of(key string) (shape, bool) {
	for _, inner := range s.inner {
		if inner.key == key {
			return inner, true
		}
	}
	return shape{}, false
}

func textKey(key string) shape   { return shape{key: key, name: key, form: jsonText} }
func numberKey(key string) shape { return shape{key: key, name: key, form: jsonNumber} }
func truthKey(key string) shape  { return shape{key: key, name: key, form: jsonTruth} }

func objectKey(key string, inner ...shape) shape {
	return shape{key: key, name: key, form: jsonObject, inner: inner}
}

func listKey(key, name string, inner ...shape) shape {
	return shape{key: key, name: name, form: jsonList, inner: inner}
}

// jsonShape is a lifecycle configuration in the AWS CLI's JSON. It has plural
// names for lists that XML writes as repeated elements.
func jsonShape() shape {
	tag := []shape{textKey("Key"), textKey("Value")}
	greater, less := numberKey("ObjectSizeGreaterThan"), numberKey("ObjectSizeLessThan")
	return objectKey("",
		listKey("Rules", "Rule",
			textKey("ID"), textKey("Status"),
			objectKey("Filter", textKey("Prefix"), objectKey("Tag", tag...), greater, less,
				objectKey("And", textKey("Prefix"), listKey("Tags", "Tag", tag...), greater, less)),
			textKey("Prefix"),
			objectKey("Expiration", numberKey("Days"), textKey("Date"), truthKey("ExpiredObjectDeleteMarker")),
			objectKey("NoncurrentVersionExpiration", numberKey("NoncurrentDays"), numberKey("NewerNoncurrentVersions")),
			objectKey("AbortIncompleteMultipartUpload", numberKey("DaysAfterInitiation")),
			listKey("Transitions", "Transition", numberKey("Days"), textKey("Date"), textKey("StorageClass")),
			listKey("NoncurrentVersionTransitions", "NoncurrentVersionTransition",
				numberKey("NoncurrentDays"), numberKey("NewerNoncurrentVersions"), textKey("StorageClass")),
		),
		// The CLI's get prints it beside the rules.
		textKey("TransitionDefaultMinimumObjectSize"),
	)
}
