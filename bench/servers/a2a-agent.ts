// The A2A agent that the bridge calls.
import { startSdkAgent } from '../../packages/agent3/test/fixtures/sdk-agent.ts';
import { serveBeside } from '../measuring/helper-process.ts';

const { card } = await startSdkAgent();
serveBeside({ card });
