// What every command says of itself. Loaded for --help and for mistakes; it imports nothing.

interface Help {
  usage: readonly string[];
  about: string;
}

const source = `      --agent FILE     an agent in one JSON file: agentConfig, mcpServers, tools, access, limits
      --mcp FILE       JSON with "mcpServers", as Claude Desktop, Cursor and VS Code have it; may be repeated;
                       --config is the same. Without --agent, --mcp and --tools: the built-in server
      --tools DIR      a folder of tools; may be repeated; web, github and notes are included
      --default-capability NAME  read, write, create or delete: what tools of folders can do whose manifest does not say
                       so; default: delete
`;
const access = `      --profile NAME   reader, writer, manager or admin: what tools may do; default: everything
      --confirm WHEN   never, destructive, write or always: which calls to ask about; default: destructive
`;
const http = `      --http           over HTTP instead of stdin and stdout
      --host NAME      the address to listen on; default: 127.0.0.1
      --port NUMBER    default: any free port
      --token TOKEN    clients must send it; default: POCKET_AGENT_TOKEN, else none
`;

const helps: Readonly<Record<string, Help>> = {
  ask: {
    usage: [
      'pocket-agent [options] "prompt"               answers once',
      'command | pocket-agent [options] ["prompt"]   what is piped in comes after the prompt',
      'pocket-agent [options]                        chats, in a terminal',
      'pocket-agent COMMAND [options]                tools, call, serve, serve-tools, new-tool, sessions, dump, doctor',
    ],
    about: `An agent with tools for sums, dates, time zones, units and the text files below this folder, with tool folders,
or with those of your MCP servers.

Commands:
  tools                       every tool, what it can do, and whether the profile allows it
  call SERVER TOOL [ARGS]     try one tool
  serve FILE                  an agent file as an MCP server
  serve-tools DIR...          tool folders as an MCP server
  new-tool NAME               write a tool folder that works
  dump [FILE]                 documentation and source of this package as one Markdown text
  sessions                    the conversations kept with --session and /save
  doctor                      check Node, keys, servers, tool folders; says how to fix each problem

Options:
  -m, --model NAME     anthropic/…, openai/…, google/…, azure/…, ollama/…, openai-compatible/… or demo
                       default: by the key that is set, else a local Ollama, else the demo model (no LLM)
${source}${access}      --yes            allow every call; without it, and without a terminal to ask in, such calls are refused
      --image FILE     a PNG, JPEG, GIF or WebP for the model; may be repeated
      --session NAME   keep the conversation under this name, and go on with it
      --max-cost USD   end a run when it has cost this much
      --max-steps N    end a run after this many answers of the model; default: 50
      --json           events as JSON lines on stdout, the answer last
  -q, --quiet          only the answer, and questions about calls
  -h, --help           this text
  -v, --version        the version

Exit codes:
  0  answered          also when a call was refused and the model answered without it
  1  failed
  2  called wrongly, or a configuration that cannot work
  3  a limit was reached: steps, cost, tokens, tool calls or time
  4  call: the call was refused
  130, 143, 129  stopped by Ctrl-C, by SIGTERM, by the end of the terminal
  141  output pipe closed
`,
  },
  tools: {
    usage: ['pocket-agent tools [options] [NAME…]'],
    about: `Lists every tool, what it can do (read, write, create, delete), what that was concluded from, and whether the
profile allows it; of tools that are named also what they say of themselves, and the JSON Schema of their arguments.
Exit code 1 when no server and no folder answers, when a folder is broken, or when none has a tool of that name.

Options:
${source}      --profile NAME   reader, writer, manager or admin
      --json           one JSON object per line
`,
  },
  call: {
    usage: ['pocket-agent call [options] SERVER TOOL [ARGS]'],
    about: `Calls one tool and shows what it returns. SERVER is the name of an MCP server, of a tool folder, or "builtin".
ARGS is a JSON object, or key=value pairs:

  pocket-agent call builtin calculate expression="6 * 7"

Exit code 1 when the tool says that it failed, 4 when the call is refused.

Options:
${source}${access}      --yes            allow the call
      --json           the whole result as JSON
`,
  },
  serve: {
    usage: ['pocket-agent serve [options] FILE'],
    about: `Serves the agent of an agent file (see --agent) over MCP: on stdin and stdout, or over HTTP. Calls that need a yes
are put to the client.

Options:
  -m, --model NAME     another model than the file names
${http}      --a2a            as an A2A agent, over HTTP
      --conversation C per-client (default), per-token (one for each token) or shared (one for all)
${access}`,
  },
  'serve-tools': {
    usage: ['pocket-agent serve-tools [options] DIR...'],
    about: `Serves tool folders over MCP: on stdin and stdout, or over HTTP. web, github and notes are included.

Options:
${http}      --profile NAME   reader, writer, manager or admin: what clients may call; default: everything
      --default-capability NAME  what tools can do whose manifest does not say so; default: delete
      --watch          load a folder again when it was edited, between calls; tell on stderr when an edit breaks it
`,
  },
  'new-tool': {
    usage: ['pocket-agent new-tool [--dir DIR] NAME'],
    about: `Writes a tool folder that works, with a test: DIR/NAME.

Options:
      --dir DIR        default: tools
`,
  },
  sessions: {
    usage: ['pocket-agent sessions'],
    about: `Lists the conversations that are kept, the newest first: name, messages, when they were saved, and how they begin.
--session NAME goes on with one.
`,
  },
  dump: {
    usage: ['pocket-agent dump [--docs-only | --source-only] [FILE]'],
    about: `Writes the documentation and the source of this package to FILE, or to stdout, as one Markdown text for a model to
read.

Options:
      --docs-only      without the source
      --source-only    without the documentation
`,
  },
  doctor: {
    usage: ['pocket-agent doctor [options]'],
    about: `Checks Node, keys (only whether they are set), provider packages, servers, tool folders, the data folder and the
terminal, and says how to fix what is broken. Exit code 1 when something is.

Options:
  -m, --model NAME     the model to check; default: the one that would be used
${source}`,
  },
};

/** How this program was started, for lines to type: from source only in a checkout. */
const isCheckout = process.env.npm_lifecycle_event === 'start' && import.meta.url.endsWith('.ts');
export const program = isCheckout ? 'npm start --silent --' : 'pocket-agent';

export const commandNames: readonly string[] = Object.keys(helps).filter((name) => name !== 'ask');

export function helpOf(command: string): string {
  return `${usageLines(command)}\n${helps[command]?.about}`;
}

/** How a command is called, without the details. */
export function usageOf(command: string): string {
  return `${usageLines(command)}\npocket-agent ${command === 'ask' ? '' : `${command} `}--help tells more.\n`;
}

function usageLines(command: string): string {
  const [first, ...more] = helps[command]?.usage ?? [];
  return `Usage: ${first}\n${more.map((line) => `       ${line}\n`).join('')}`;
}
