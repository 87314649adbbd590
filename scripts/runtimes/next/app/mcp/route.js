import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const agent = new PocketAgent({ name: 'Host', llmModel: new ScriptedModel(['answered from Next']) });
const { fetch } = agent.asMcpServer({ token: 'secret' });

export { fetch as GET, fetch as POST, fetch as DELETE };
