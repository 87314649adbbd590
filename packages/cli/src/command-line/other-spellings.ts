// Options of other agent commands and their names here, for errors about unknown options.

interface Spelling {
  theirs: readonly string[];
  /** The advice is for commands that have this option. */
  ours: string;
  advice: string;
}

const spellings: readonly Spelling[] = [
  {
    theirs: ['mcp-config', 'mcp-config-file', 'mcp-configs', 'mcp-file', 'mcp-server', 'mcp-servers'],
    ours: 'mcp',
    advice: 'Use --mcp FILE.',
  },
  {
    theirs: ['p', 'print', 'prompt', 'message', 'query', 'exec', 'ask'],
    ours: 'session',
    advice: 'Write the prompt as an argument: pocket-agent "prompt".',
  },
  {
    theirs: ['i', 'interactive', 'chat', 'repl'],
    ours: 'session',
    advice: 'Without a prompt, pocket-agent chats.',
  },
  {
    theirs: ['s', 'system', 'system-prompt', 'system-prompt-file', 'append-system-prompt', 'instructions'],
    ours: 'agent',
    advice: 'Use --agent FILE with "systemPrompt".',
  },
  {
    theirs: ['temperature', 'top-p', 'max-tokens', 'max-output-tokens', 'seed', 'reasoning-effort', 'effort'],
    ours: 'agent',
    advice: 'Use --agent FILE with "completionOptions".',
  },
  {
    theirs: ['base-url', 'api-base', 'endpoint', 'openai-base-url'],
    ours: 'agent',
    advice: 'Use --agent FILE with "modelSettings": { "baseUrl": … }, or a variable such as OPENAI_BASE_URL.',
  },
  {
    theirs: ['key', 'api-key', 'token', 'openai-api-key'],
    ours: 'agent',
    advice: 'Keys come from the environment; pocket-agent models names the variable of each provider.',
  },
  { theirs: ['provider', 'llm', 'm'], ours: 'model', advice: 'Use --model PROVIDER/MODEL.' },
  { theirs: ['list-models', 'models'], ours: 'model', advice: 'Use the command pocket-agent models.' },
  { theirs: ['list-tools', 'show-tools'], ours: 'agent', advice: 'Use the command pocket-agent tools.' },
  {
    theirs: ['max-turns', 'max-iterations', 'max-iter', 'max-tool-rounds', 'max-loops'],
    ours: 'max-steps',
    advice: 'Use --max-steps N.',
  },
  { theirs: ['max-budget', 'max-budget-usd', 'budget'], ours: 'max-cost', advice: 'Use --max-cost USD.' },
  {
    theirs: ['output-format', 'format', 'o', 'stream-json'],
    ours: 'json',
    advice: 'Use --json, which writes events as JSON lines.',
  },
  { theirs: ['json-schema', 'schema', 'output-schema'], ours: 'output', advice: 'Use --output FILE.' },
  {
    theirs: [
      ...['y', 'yolo', 'full-auto', 'auto-approve', 'always-approve', 'allow-all-tools', 'trust-all-tools'],
      ...['dangerously-skip-permissions', 'dangerously-bypass-approvals-and-sandbox', 'no-confirm'],
    ],
    ours: 'yes',
    advice: 'Use --yes, which approves every call.',
  },
  {
    theirs: ['permission-mode', 'approval-mode', 'ask-for-approval', 'approve', 'approval-policy'],
    ours: 'confirm',
    advice: 'Use --confirm WHEN.',
  },
  {
    theirs: [
      'allowedtools',
      'allowed-tools',
      'disallowedtools',
      'disallowed-tools',
      'allow-tool',
      'deny-tool',
      'sandbox',
    ],
    ours: 'profile',
    advice: 'Use --profile NAME, or --agent FILE with "access".',
  },
  {
    theirs: ['c', 'r', 'continue', 'resume', 'session-id', 'conversation', 'cid', 'thread', 'thread-id'],
    ours: 'session',
    advice: 'Use --session NAME.',
  },
  { theirs: ['tool', 'toolbox', 'functions', 't'], ours: 'tools', advice: 'Use --tools DIR.' },
  { theirs: ['a', 'f', 'attach', 'attachment', 'attachments', 'files'], ours: 'file', advice: 'Use --file FILE.' },
  { theirs: ['images', 'picture'], ours: 'image', advice: 'Use --image FILE.' },
  { theirs: ['verbose', 'debug', 'trace'], ours: 'json', advice: '--json shows every event.' },
  { theirs: ['silent'], ours: 'quiet', advice: 'Use --quiet.' },
];

/** How an option of another program is written here, if this command has an option for it. */
export function otherSpelling(name: string, ours: readonly string[]): string | undefined {
  const wanted = plain(name);
  const isTheirs = (theirs: readonly string[]) => theirs.some((each) => plain(each) === wanted);
  return spellings.find((each) => ours.includes(each.ours) && isTheirs(each.theirs))?.advice;
}

/** Hyphens, underscores and capitals make no difference. */
function plain(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}
