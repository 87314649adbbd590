// Ids of Mattermost records: 26 letters and digits.
export const ID_PATTERN = /^[A-Za-z0-9]{26}$/;

export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}
