// The agent behind the bridge.
import { startSdkAgent } from '../../packages/agent3/test/fixtures/sdk-agent.ts';
import { serveBeside } from '../beside.ts';

const { card } = await startSdkAgent();
serveBeside({ card });
