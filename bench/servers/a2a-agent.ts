// The A2A agent that the bridge of agent3 calls.
import { startSdkAgent } from '../../packages/agent3/test/fixtures/sdk-agent.ts';
import { serveAsHelper } from '../measuring/helper-process.ts';

const { card } = await startSdkAgent();
serveAsHelper({ card });
