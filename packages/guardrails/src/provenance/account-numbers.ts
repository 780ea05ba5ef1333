/** An account number as banks write it, together or in groups. Source of a regular expression that takes linear time. */
export const accountSource = String.raw`[A-Z]{2}\d{2}(?:[A-Z0-9]{8,30}|(?:[ -][A-Z0-9]{1,4}){3,8})`;
