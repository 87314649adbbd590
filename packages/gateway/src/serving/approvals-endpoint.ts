// `/approvals`: callers with the right to approve list open questions and answer them. `GET /approvals` lists them;
// `?wait=25&known=VERSION` waits for a change. `POST /approvals/ID` answers one.
import { readBody } from '@pocket-agent/http/byte-chunks';
import { checkValue, delay, errorText, isRecord, nonEmptyString, oneOf, sha256 } from '@pocket-agent/kit';
import type { OpenQuestions } from '../approvals/open-questions.ts';
import type { Caller } from '../callers/caller.ts';
import type { GivenAnswer, OpenQuestion } from '../callers/state.ts';

export const APPROVALS_PATH = '/approvals';

const MAX_BODY = 1_000_000;
const MAX_WAIT_S = 30;
const LOOK_MS = 500;
const MAX_REASON = 500;

const rememberRule = oneOf('call', 'conversation');

interface Endpoint {
  questions: OpenQuestions;
  /** Or the response that refuses the request. */
  callerOf(request: Request): Promise<Caller | Response>;
}

export async function answerApprovals(request: Request, { questions, callerOf }: Endpoint): Promise<Response> {
  const caller = await callerOf(request);
  if (caller instanceof Response) return caller;
  const { name, settings } = caller;
  if (!settings.approves) return refusal(403, 'This token may not approve calls.');
  const { pathname, searchParams } = new URL(request.url);
  const id = pathname.slice(APPROVALS_PATH.length + 1);
  if (request.method === 'GET' && id === '') return list(request, { questions, searchParams, name });
  if (request.method !== 'POST' || id === '')
    return refusal(405, `GET ${APPROVALS_PATH}, or POST ${APPROVALS_PATH}/ID`);
  const open = (await questions.list()).find((question) => question.id === id);
  if (!open) return refusal(404, 'This question is not open.');
  if (open.caller === name) return refusal(403, 'You cannot approve your own calls.');
  const body = await readBody(request, MAX_BODY);
  if (!body) return refusal(413, `An answer has at most ${MAX_BODY} bytes.`);
  try {
    const answer = readAnswer(JSON.parse(body.toString()), open);
    return (await questions.answer(id, { answer, by: name }))
      ? Response.json({ answered: true })
      : refusal(404, 'This question is not open.');
  } catch (error) {
    return refusal(400, errorText(error));
  }
}

interface Listing {
  questions: OpenQuestions;
  searchParams: URLSearchParams;
  name: string;
}

/** Without the questions about the approver's own calls. */
async function list({ signal }: Request, { questions, searchParams, name }: Listing): Promise<Response> {
  const seconds = Number(searchParams.get('wait') ?? 0);
  if (!(seconds >= 0 && seconds <= MAX_WAIT_S)) return refusal(400, `wait is a number from 0 to ${MAX_WAIT_S}.`);
  const known = searchParams.get('known');
  const until = Date.now() + 1_000 * seconds;
  for (;;) {
    const open = (await questions.list()).filter(({ caller }) => caller !== name);
    const version = sha256(open.map(({ id }) => id).join(' ')).slice(0, 16);
    if (version !== known || Date.now() >= until) return Response.json({ version, questions: open });
    await delay(LOOK_MS, signal);
  }
}

function readAnswer(value: unknown, { hash }: OpenQuestion): GivenAnswer['answer'] {
  if (!isRecord(value) || 'allow' in value === 'deny' in value)
    throw new Error('An answer is { "allow": true }, { "allow": { … } } with other arguments, or { "deny": "why" }.');
  const { allow, deny, remember } = value;
  if (value.hash !== undefined && value.hash !== hash) throw new Error('The answer has the hash of another call.');
  if ('deny' in value) {
    if (typeof deny !== 'string') throw new Error('deny must be a string: the reason.');
    return { deny: nonEmptyString(deny.slice(0, MAX_REASON)) ?? 'it was not approved' };
  }
  if (allow !== true && !isRecord(allow)) throw new Error('allow is true, or an object of other arguments.');
  if (remember !== undefined) checkValue('remember', remember, rememberRule);
  if (remember !== undefined && allow !== true)
    throw new Error('remember needs "allow": true, without other arguments.');
  return { allow, ...(remember === undefined ? {} : { remember: remember as 'call' }) };
}

function refusal(status: number, error: string): Response {
  return Response.json({ error }, { status });
}
