// Gateways that run elsewhere: what waits there, and the calls of their servers.
import type { VNode } from 'preact';
import type { GatewayCalls, GatewayInfo } from '../../src/wire/wire.ts';
import { duration } from '../parts/format.ts';
import { address, usePolled } from '../parts/hooks.ts';
import { Wide } from '../parts/wide.tsx';

export function GatewaysView(): VNode {
  const { value: gateways, error } = usePolled<GatewayInfo[]>('/gateways');
  return (
    <section class="page">
      <h1>Gateways</h1>
      {error && <p class="problem">{error}</p>}
      {gateways?.map(({ name, waiting, problem, servers }) => (
        <section key={name}>
          <h2>{name}</h2>
          {problem && <p class="problem">{problem}</p>}
          <p>
            <a href={address('approvals')}>
              {waiting === 1 ? '1 call waits' : `${waiting} calls wait`} for an approval
            </a>
          </p>
          {servers ? <Calls servers={servers} name={name} /> : <NoMetrics />}
        </section>
      ))}
    </section>
  );
}

function Calls({ servers, name }: { servers: readonly GatewayCalls[]; name: string }): VNode {
  return (
    <Wide label={`Calls of ${name}`}>
      <table>
        <thead>
          <tr>
            <th>Server</th>
            <th>Status</th>
            <th class="number">Calls</th>
            <th class="number">Failed</th>
            <th class="number">Denied</th>
            <th class="number">Mean time</th>
          </tr>
        </thead>
        <tbody>
          {servers.map(({ server, isUp, calls, failed, denied, meanMs }) => (
            <tr key={server}>
              <td>{server}</td>
              <td class={isUp ? 'good' : 'bad'}>{isUp ? 'up' : 'down'}</td>
              <td class="number">{calls}</td>
              <td class="number">{failed}</td>
              <td class="number">{denied}</td>
              <td class="number">{calls > 0 ? duration(meanMs) : ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function NoMetrics(): VNode {
  return (
    <p class="empty">
      <span>
        To see calls, start gateway and studio with the same <code>POCKET_AGENT_GATEWAY_METRICS_TOKEN</code>.
      </span>
    </p>
  );
}
