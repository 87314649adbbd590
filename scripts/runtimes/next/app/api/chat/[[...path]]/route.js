import { chatHandler } from '@pocket-agent/web';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const agent = new PocketAgent({ name: 'Chat', llmModel: new ScriptedModel(['chatted from Next']) });
const chat = chatHandler(agent, { authorize: (request) => request.headers.get('x-user') });

export { chat as DELETE, chat as GET, chat as POST };
