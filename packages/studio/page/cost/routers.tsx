// The deployments of routers as they are now: what they have answered, what cools down, and how many calls wait.
import type { VNode } from 'preact';
import type { RouterInfo } from '../../src/wire/wire.ts';
import { clock, duration } from '../parts/format.ts';
import { usePolled } from '../parts/hooks.ts';
import { Wide } from '../parts/wide.tsx';

type Deployment = RouterInfo['status']['deployments'][number];

export function Routers(): VNode {
  const { value: routers, error } = usePolled<RouterInfo[]>('/routers');
  return (
    <>
      {error && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      {routers?.map(({ name, status: { deployments, waiting } }) => (
        <section key={name}>
          <h2>Router {name}</h2>
          <Wide label={`Router ${name}`}>
            <table>
              <thead>
                <tr>
                  <th>Model</th>
                  <th>Deployment</th>
                  <th>State</th>
                  <th class="number">In progress</th>
                  <th class="number">Waiting for the model</th>
                  <th class="number">Calls</th>
                  <th class="number">Failed</th>
                  <th class="number">Latency</th>
                  <th class="number">Requests and tokens in the last minute</th>
                </tr>
              </thead>
              <tbody>
                {deployments.map((each) => (
                  <tr key={each.id}>
                    <td>{each.modelName}</td>
                    <td>{each.id}</td>
                    <DeploymentState deployment={each} />
                    <td class="number">{each.inFlight}</td>
                    <td class="number">{waiting[each.modelName] ?? 0}</td>
                    <td class="number">{each.calls}</td>
                    <td class="number">{each.failures}</td>
                    <td class="number">{each.latencyMs === undefined ? '' : duration(each.latencyMs)}</td>
                    <td class="number">
                      {each.used.requests.toLocaleString('en')} · {each.used.tokens.toLocaleString('en')}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Wide>
        </section>
      ))}
    </>
  );
}

function DeploymentState({ deployment: { coolingUntil, lastFailure } }: { deployment: Deployment }): VNode {
  if (coolingUntil === undefined) return <td class="good">available</td>;
  return (
    <td class="bad">
      not used until {clock(coolingUntil)}
      {lastFailure && `: ${lastFailure}`}
    </td>
  );
}
