// The tools and servers of an agent, and a form to call one of them.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ToolInfo, ToolList } from '../../src/wire/wire.ts';
import { counted, duration } from '../parts/format.ts';
import { address, useAction, useConnection, useKnown } from '../parts/hooks.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { callsByServer } from '../state/totals.ts';
import { Offers } from './offers.tsx';
import { ToolForm } from './tool-form.tsx';

interface ToolsViewProps {
  agent: string | undefined;
  /** The name of a tool. */
  selected: string | undefined;
}

export function ToolsView({ agent, selected }: ToolsViewProps): VNode {
  const { agents } = useKnown();
  const chosen = agent || agents[0]?.name;
  return (
    <section class="page">
      <h1>Tools</h1>
      {chosen === undefined ? (
        <p class="empty">The agents of this program are in its own code: their tools cannot be listed here.</p>
      ) : (
        <AgentTools key={chosen} agent={chosen} selected={selected} />
      )}
    </section>
  );
}

function AgentTools({ agent, selected }: { agent: string; selected: string | undefined }): VNode {
  const { agents } = useKnown();
  const connection = useConnection();
  const { error, act } = useAction();
  const [list, setList] = useState<ToolList>();
  const [words, setWords] = useState('');
  useEffect(
    () => act(async () => setList(await connection.get<ToolList>(`/agents/${encodeURIComponent(agent)}/tools`))),
    [act, connection, agent],
  );
  const isFound = ({ name, description = '' }: ToolInfo) =>
    `${name} ${description}`.toLowerCase().includes(words.toLowerCase());
  return (
    <>
      <p class="actions">
        <select
          aria-label="Agent"
          value={agent}
          onChange={(event) => {
            location.hash = address('tools', event.currentTarget.value);
          }}
        >
          {agents.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <input
          type="search"
          aria-label="Search tools"
          placeholder="Search tools"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </p>
      {error && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      {!list && !error && <p class="note">Asking the servers…</p>}
      {list && selected && !list.tools.some(({ name }) => name === selected) && (
        <p class="problem" role="alert">
          This agent has no tool with the name {selected}.
        </p>
      )}
      {list && <Servers list={list} />}
      <ul class="plain tools" data-list>
        {list?.tools.filter(isFound).map((tool) => (
          <Tool key={tool.name} agent={agent} tool={tool} isOpen={tool.name === selected} />
        ))}
      </ul>
      {list && list.servers.length > 0 && <Offers agent={agent} />}
      {list?.servers.length === 0 && <NoServers hasTools={list.tools.length > 0} />}
    </>
  );
}

function Servers({ list: { servers, tools } }: { list: ToolList }): VNode | null {
  const { runs } = useKnown();
  if (servers.length === 0) return null;
  return (
    <ul class="plain servers">
      {servers.map(({ name, status, reason }) => {
        const { calls, failed, medianMs } = callsByServer(runs.values(), tools, name);
        return (
          <li key={name}>
            <strong>{name}</strong> <span class={status === 'connected' ? 'good' : 'bad'}>{status}</span>{' '}
            {calls > 0 && (
              <span class="soft">
                {counted(calls, 'call')}, median {duration(medianMs)}, {failed} failed
              </span>
            )}{' '}
            {reason && <span class="soft">{reason}</span>}
          </li>
        );
      })}
    </ul>
  );
}

function Tool({ agent, tool, isOpen }: { agent: string; tool: ToolInfo; isOpen: boolean }): VNode {
  const { name, group, capability, exposure, hiddenBy, description, inputSchema, outputSchema } = tool;
  const line = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isOpen) line.current?.scrollIntoView({ block: 'nearest' });
  }, [isOpen]);
  return (
    <li ref={line}>
      <a
        data-item
        class="tool-name"
        href={isOpen ? address('tools', agent) : address('tools', agent, name)}
        aria-current={isOpen ? 'true' : undefined}
      >
        {name}
      </a>{' '}
      <span class={`capability ${capability}`}>{capability}</span>{' '}
      <span class="soft small">{[group, exposure].filter(Boolean).join(' · ')}</span>{' '}
      {hiddenBy && <span class="bad small">hidden: {hiddenBy}</span>}
      <p class={isOpen ? 'soft' : 'soft cut'}>{description}</p>
      {isOpen && (
        <>
          {hiddenBy === undefined && <ToolForm agent={agent} tool={tool} />}
          <h4>Input schema</h4>
          <JsonTree value={inputSchema} />
          {outputSchema !== undefined && (
            <>
              <h4>Output schema</h4>
              <JsonTree value={outputSchema} />
            </>
          )}
        </>
      )}
    </li>
  );
}

const example = `{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]
    }
  }
}`;

function NoServers({ hasTools }: { hasTools: boolean }): VNode {
  return (
    <div class="empty">
      <p>
        This agent has no {hasTools ? 'MCP server' : 'tools'} yet. Put this in a file and start the studio with{' '}
        <code>--mcp FILE</code>:
      </p>
      <pre>{example}</pre>
    </div>
  );
}
