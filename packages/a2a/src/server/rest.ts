// The routes of the REST binding. Bodies and answers are those of JSON-RPC.

interface RestCall {
  method: string;
  params: Record<string, unknown>;
  /** HTTP status of a successful answer. Default 200. */
  status?: number;
}

interface RestRequest {
  verb: string;
  /** Relative to the URL of the interface. */
  path: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
}

type Route = [
  verb: string,
  path: RegExp,
  call: (id: string, configId: string) => Omit<RestCall, 'params'> & { ids?: object },
];

const TASK = '/tasks/([^/:]+)';
const HOOKS = `${TASK}/pushNotificationConfigs`;

const routes: Route[] = [
  ['POST', /^\/message:send$/, () => ({ method: 'SendMessage' })],
  ['POST', /^\/message:stream$/, () => ({ method: 'SendStreamingMessage' })],
  ['GET', /^\/tasks$/, () => ({ method: 'ListTasks' })],
  ['GET', new RegExp(`^${TASK}$`), (id) => ({ method: 'GetTask', ids: { id } })],
  ['POST', new RegExp(`^${TASK}:cancel$`), (id) => ({ method: 'CancelTask', ids: { id } })],
  ['POST', new RegExp(`^${TASK}:subscribe$`), (id) => ({ method: 'SubscribeToTask', ids: { id } })],
  ['GET', new RegExp(`^${TASK}:subscribe$`), (id) => ({ method: 'SubscribeToTask', ids: { id } })],
  [
    'POST',
    new RegExp(`^${HOOKS}$`),
    (taskId) => ({ method: 'CreateTaskPushNotificationConfig', ids: { taskId }, status: 201 }),
  ],
  ['GET', new RegExp(`^${HOOKS}$`), (taskId) => ({ method: 'ListTaskPushNotificationConfigs', ids: { taskId } })],
  [
    'GET',
    new RegExp(`^${HOOKS}/([^/]+)$`),
    (taskId, id) => ({ method: 'GetTaskPushNotificationConfig', ids: { taskId, id } }),
  ],
  [
    'DELETE',
    new RegExp(`^${HOOKS}/([^/]+)$`),
    (taskId, id) => ({ method: 'DeleteTaskPushNotificationConfig', ids: { taskId, id }, status: 204 }),
  ],
  ['GET', /^\/extendedAgentCard$/, () => ({ method: 'GetExtendedAgentCard' })],
];

/** The JSON-RPC call for a REST request; undefined for an unknown path. */
export function restCall({ verb, path, query, body }: RestRequest): RestCall | undefined {
  for (const [method, pattern, call] of routes) {
    const [matched, id = '', configId = ''] = method === verb ? (pattern.exec(path) ?? []) : [];
    if (matched === undefined) continue;
    const { ids, ...rest } = call(decode(id), decode(configId));
    return { ...rest, params: { ...queryParams(query), ...body, ...ids } };
  }
  return undefined;
}

function queryParams(query: URLSearchParams): Record<string, unknown> {
  const pairs = [...query].filter(([name, value]) => value !== '' && name.toLowerCase() !== 'a2a-version');
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, value === 'true' ? true : value === 'false' ? false : value]),
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
