/** An escape that JSON does not need, or an exponent: where the JSON of the value has other characters than the text. */
const otherwise = /(?<!\\)(?:\\\\)*\\[u/]|[[:,\s]-?\d+(?:\.\d+)?[eE]/;

/**
 * Whether a JSON text says something in other characters than the JSON of its value does. Who looks at such a text alone may miss what it
 * says: `"\u0061"` is `"a"`. Time is linear.
 */
export const saysOtherwise = (text: string): boolean => otherwise.test(text);
