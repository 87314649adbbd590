// Explains errors of servers whose version, license or settings lack a feature.
import { isMattermostError, MattermostError } from '../../base/errors.ts';

interface Feature {
  /** In the plural: "scheduled messages". */
  what: string;
  /** The first version with the feature. */
  version?: string;
  /** The license it needs, as in "they need …". */
  license?: string;
}

/** Error id of an unknown API path. */
const UNKNOWN_PATH = 'api.context.404.app_error';

export async function explainUnsupported<Answer>(feature: Feature, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    const reason = isMattermostError(error) ? reasonFor(error, feature) : undefined;
    if (!isMattermostError(error) || reason === undefined) throw error;
    const { status, errorId } = error;
    throw new MattermostError('CLIENT_ERROR', `Client error: ${reason} (status=${status})`, {
      cause: error,
      status,
      errorId,
    });
  }
}

function reasonFor(
  { code, status, errorId = '' }: MattermostError,
  { what, version, license }: Feature,
): string | undefined {
  if (code === 'NOT_FOUND' && (errorId === '' || errorId === UNKNOWN_PATH)) {
    const needs = [version && `version ${version} or newer`, license].filter(Boolean).join(' and ');
    return `This Mattermost server has no ${what}${needs ? `; they need ${needs}` : ''}.`;
  }
  if (license !== undefined && (/licen[cs]e/.test(errorId) || (status === 501 && !/disabled/.test(errorId)))) {
    return `The license of this Mattermost server does not include ${what}; they need ${license}.`;
  }
  if (status === 501 || /disabled|priority_post_not_allowed/.test(errorId)) {
    return `${what[0]?.toUpperCase()}${what.slice(1)} are turned off on this Mattermost server. Only an administrator can turn them on.`;
  }
  return undefined;
}
