/** Levels of JSON: what is read recursively later on must not fill the stack. */
const mostLevels = 1_000;

/** True for JSON of more levels than that, without reading it as JSON. */
export function isTooDeep(json: string): boolean {
  if (json.length <= mostLevels) return false;
  let level = 0;
  let isText = false;
  for (let index = 0; index < json.length; index += 1) {
    const letter = json.charAt(index);
    if (isText && letter === '\\') index += 1;
    else if (letter === '"') isText = !isText;
    else if (!isText && (letter === '{' || letter === '[')) level += 1;
    else if (!isText && (letter === '}' || letter === ']')) level -= 1;
    if (level > mostLevels) return true;
  }
  return false;
}
