// Errors of Discord, with its codes and texts.

/** Problems of single fields: `{ content: 'BASE_TYPE_MAX_LENGTH: Must be 2000 or fewer in length.' }`, paths with dots. */
export type FieldProblems = Record<string, string>;

export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly code: number;
  readonly errors: object | undefined;

  constructor(status: number, code: number, { message, errors }: { message: string; errors?: object }) {
    super(message);
    this.status = status;
    this.code = code;
    this.errors = errors;
  }

  toJSON(): object {
    return { message: this.message, code: this.code, ...(this.errors && { errors: this.errors }) };
  }
}

const refusal = (status: number, code: number, message: string) => () => new ApiError(status, code, { message });

export const unauthorized = refusal(401, 0, '401: Unauthorized');
export const unknownRoute = refusal(404, 0, '404: Not Found');
export const unknownChannel = refusal(404, 10003, 'Unknown Channel');
export const unknownGuild = refusal(404, 10004, 'Unknown Guild');
export const unknownMember = refusal(404, 10007, 'Unknown Member');
export const unknownMessage = refusal(404, 10008, 'Unknown Message');
export const unknownRole = refusal(404, 10011, 'Unknown Role');
export const unknownUser = refusal(404, 10013, 'Unknown User');
export const unknownEmoji = refusal(400, 10014, 'Unknown Emoji');
export const unknownWebhook = refusal(404, 10015, 'Unknown Webhook');
export const unknownInteraction = refusal(404, 10062, 'Unknown interaction');
export const unknownCommand = refusal(404, 10063, 'Unknown application command');
export const tooLarge = refusal(413, 40005, 'Request entity too large');
export const tooManyFollowUps = refusal(
  400,
  40094,
  'This interaction has hit the maximum number of follow up messages',
);
export const alreadyAcknowledged = refusal(400, 40060, 'Interaction has already been acknowledged.');
export const missingAccess = refusal(403, 50001, 'Missing Access');
export const othersMessage = refusal(403, 50005, 'Cannot edit a message authored by another user');
export const emptyMessage = refusal(400, 50006, 'Cannot send an empty message');
export const cannotReachUser = refusal(403, 50007, 'Cannot send messages to this user');
export const missingPermissions = refusal(403, 50013, 'Missing Permissions');
export const invalidWebhookToken = refusal(401, 50027, 'Invalid Webhook Token');
export const badJson = refusal(400, 50109, 'The request body contains invalid JSON.');
export const archivedThread = refusal(400, 50083, 'Thread is archived');
export const tooManyPins = refusal(400, 30003, 'Maximum number of pins reached (50)');
export const tooManyReactions = refusal(400, 30010, 'Maximum number of reactions reached (20)');
export const cannotReplyUnread = refusal(400, 160002, 'You cannot reply without permission to read message history');
export const blockedContent = refusal(400, 200000, 'Message was blocked by automatic moderation');
export const explicitContent = refusal(400, 20009, 'Explicit content cannot be sent to the desired recipient(s)');
export const threadExists = refusal(400, 160004, 'A thread has already been created for this message');

/** An "Invalid Form Body" error: a tree of problems in the shape of the body. */
export function invalidForm(problems: FieldProblems): ApiError {
  const errors: Record<string, unknown> = {};
  for (const [path, problem] of Object.entries(problems)) {
    const separator = problem.indexOf(': ');
    const leaf = { code: problem.slice(0, separator), message: problem.slice(separator + 2) };
    let node = errors;
    for (const key of path.split('.')) {
      const next: Record<string, unknown> = Object(node[key] ?? {});
      node[key] = next;
      node = next;
    }
    node._errors = [leaf];
  }
  return new ApiError(400, 50035, { message: 'Invalid Form Body', errors });
}
