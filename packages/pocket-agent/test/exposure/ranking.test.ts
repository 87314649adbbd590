// Which tool a search puts first. The weights are tuned by bench/tool-search; these are the rules behind them.
import { type FunctionTool, tool } from 'pocket-agent';
import { expect, test } from 'vitest';
import { resultText, scriptedAgent } from '../helpers.ts';

const made = (name: string, description: string, properties: object = {}) =>
  tool({ name, description, inputSchema: { type: 'object', properties }, run: () => '' });

const tools = [
  made('press_key', 'Presses a key of the keyboard.'),
  made('write_file', 'Writes a text to a file.'),
  made('save_text', 'Stores a text in the notebook.'),
  made('new_game', 'Starts a new game.'),
  made('get_bbc_news', 'Returns what the BBC says.'),
  made('create_chart', 'Creates a chart.'),
  made('create_bar_chart', 'Creates a chart with bars.'),
  made('list_repositories', 'Lists the repositories of github.'),
  made('fetch_page', 'Reads a page by its url.'),
  made('issue_read', 'Reads an issue.', { method: { enum: ['get', 'get_comments', 'get_labels'] } }),
  made('change_issue', 'Changes an issue.', { state: { anyOf: [{ const: 'reopened' }, { const: 'shut' }] } }),
  made('tianqi', '查询城市的天气预报。'),
  made('rename_folder', 'Moves a folder.'),
];

async function found(query: string, from: readonly FunctionTool[]): Promise<string> {
  const search = { toolCalls: [{ name: 'find_tools', arguments: { query, limit: 1 } }] };
  const { agent } = scriptedAgent([search, 'done'], { tools: from, exposure: 'deferred' });
  await agent.run('go');
  return resultText(agent);
}

test.each([
  ['news', 'get_bbc_news', 'news is no plural of new'],
  ['create a bar chart', 'create_bar_chart', 'the tool that matches more of the query comes first'],
  ['fetch https://octocat.github.io/about', 'fetch_page', 'of an address, only its kind counts'],
  ['save it to /keyboard/key.txt', 'write_file', 'of a path, only its kind counts'],
  ['comments', 'issue_read', 'listed values of parameters are searched'],
  ['reopened', 'change_issue', 'values in variants of parameters are searched'],
  ['weather', 'tianqi', 'common words are found in Chinese'],
  ['repositoris', 'list_repositories', 'a typing error is forgiven'],
  ['moving folders', 'rename_folder', 'endings do not matter'],
])('"%s" finds %s: %s', async (query, first) => {
  expect(await found(query, tools)).toContain(`\n- ${first} `);
});

test('a rare related word counts no more than a common word of the query', async () => {
  const things = 'link image box menu row cell icon tab list card'.split(' ');
  const common = things.map((thing) => made(`click_${thing}`, `Clicks the ${thing}.`));
  expect(await found('click', [made('tap_screen', 'Taps the screen.'), ...common])).toContain('\n- click_');
});
