// An agent served on stdin and stdout.
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const agent = new PocketAgent({ name: 'Stdio', llmModel: new ScriptedModel(['answered over stdio']) });
await agent.asMcpServer().serveStdio();
