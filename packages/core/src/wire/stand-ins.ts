/** Words that an adapter sends in the user's role where its provider's grammar wants a message and the view holds none. */
export const standIns = {
  /** Before an answer that stands first. */
  opening: '(The conversation begins with an answer.)',
  /** After an answer that stands last: providers want something to answer. */
  goOn: 'Continue.',
  /** Where the view holds nothing that can be said. */
  nothing: '(Nothing was said yet.)',
} as const;
