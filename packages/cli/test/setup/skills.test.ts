// Skills and AGENTS.md on the command line.
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { CommandFolder, SCRIPTED, scriptedBy } from '../fixtures/command.ts';

const folder = new CommandFolder();
const command = folder.command.bind(folder);

let providers: FakeProviders;
/** Instead of the built-in server, whose process takes time to start. */
let noServers: ['--mcp', string];
beforeAll(async () => {
  providers = await FakeProviders.start();
  noServers = ['--mcp', await folder.servers('none.json', {})];
});
afterAll(() => providers.close());
afterEach(() => providers.reset());

const skillText = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: Does ${name}\n${more}---\nDo ${name}.\n`;

/** A new folder with these files. */
async function files(content: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(folder.path, 'files-'));
  for (const [name, text] of Object.entries(content)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

const twoSkills = () =>
  files({
    'skills/pdf/SKILL.md': skillText('pdf'),
    'skills/deploy/SKILL.md': skillText('deploy', 'metadata:\n  capability: write\n'),
  });

/** What the model was sent with this role. */
const sent = (role: string) =>
  providers.lastBody
    .at('messages')
    .list.flatMap((message) => (message.at('role').text === role ? [message.at('content').text] : []));

describe('--skills', () => {
  const rowsOf = (stdout: string) =>
    new Map(stdout.split('\n').map((line) => [line.split(/ {2,}/)[0], line.split(/ {2,}/).slice(1)]));

  test('the model loads a skill, with the built-in tools beside it', async () => {
    const cwd = await twoSkills();
    providers.script({ toolCalls: [{ name: 'load_skill', arguments: { skill: 'pdf' } }] }, 'Done.');
    const { code, stdout } = await command([...SCRIPTED, '--skills', 'skills', 'Go'], {
      cwd,
      env: scriptedBy(providers),
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' });
    expect(sent('tool')).toEqual([expect.stringContaining('Do pdf.')]);
    const names = providers.lastBody.at('tools').list.map((tool) => tool.at('function').at('name').text);
    expect(names).toEqual(expect.arrayContaining(['calculate', 'load_skill', 'read_skill_file']));
  });

  test('tools lists each skill with its rules', async () => {
    const cwd = await twoSkills();
    const { code, stdout } = await command(['tools', ...noServers, '--skills', 'skills', '--profile', 'reader'], {
      cwd,
    });
    const rows = rowsOf(stdout);
    expect(code).toBe(0);
    expect(rows.get('load_skill')).toEqual(['read', 'annotations', 'direct', expect.stringMatching(/^\d+$/), 'yes']);
    expect(rows.get('skill:pdf')).toEqual(['read', 'annotations', 'yes']);
    expect(rows.get('skill:deploy')).toEqual(['write', 'meta', 'no: it can write, and only read is allowed']);
    expect(stdout.match(/skill:/g)).toHaveLength(2);
  });

  test('several sources have one load_skill; of two skills with one name the second is reported', async () => {
    const cwd = await twoSkills();
    await mkdir(join(cwd, 'tools'));
    for (const [root, name] of [
      ['tools', 'csv'],
      ['tools', 'pdf'],
      ['more', 'pdf'],
      ['more', 'docx'],
    ] as const) {
      await mkdir(join(cwd, root, name), { recursive: true });
      await writeFile(join(cwd, root, name, 'SKILL.md'), skillText(name));
    }
    const options = ['--tools', 'tools', '--skills', 'skills', '--skills', 'more'];
    const { code, stdout, stderr } = await command(['tools', ...options], { cwd });
    expect(code).toBe(1);
    expect([...rowsOf(stdout).keys()].filter((name) => name?.includes('skill'))).toEqual([
      'load_skill',
      'read_skill_file',
      'skill:csv',
      'skill:pdf',
      'skill:deploy',
      'skill:docx',
    ]);
    const again = (one: string, other: string) =>
      `${join(cwd, one, 'pdf/SKILL.md')}:2:7: found "pdf" again, as in ${join(cwd, other, 'pdf')}; expected`;
    expect(stderr).toContain(again('more', 'skills'));
    expect(stderr).toContain(again('skills', 'tools'));
    const checked = await command(['doctor', ...noServers, '--skills', 'skills', '--skills', 'more'], { cwd });
    expect(checked.stdout).toContain(again('more', 'skills'));
  });

  test('tools reports a broken skill with its position, lists the others, and fails', async () => {
    const cwd = await twoSkills();
    await mkdir(join(cwd, 'skills/bad'));
    await writeFile(join(cwd, 'skills/bad/SKILL.md'), '---\nname: Bad\ndescription: x\n---\n');
    const { code, stdout, stderr } = await command(['tools', ...noServers, '--skills', 'skills'], { cwd });
    expect(code).toBe(1);
    expect(stdout).toContain('skill:pdf');
    expect(stderr).toContain(`${join(cwd, 'skills/bad/SKILL.md')}:2:7: found "Bad"; expected a name of`);
  });

  test.each([
    ['absent', 'Cannot read the skill folder'],
    ['.', 'There are no skills in'],
  ])('%s without skills is wrong usage', async (path, reason) => {
    const { code, stderr } = await command(['-m', 'demo', '--skills', path, 'Hi'], {
      cwd: await files({ readme: '' }),
    });
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
  });

  test('call loads a skill under the same rules', async () => {
    const cwd = await twoSkills();
    const call = (skill: string, ...more: string[]) =>
      command(['call', '--skills', 'skills', ...more, 'skills', 'load_skill', `skill=${skill}`], { cwd });
    expect((await call('pdf')).stdout).toContain('Do pdf.');
    expect(await call('deploy', '--profile', 'reader')).toMatchObject({ code: 4 });
  });

  test('doctor checks each skill', async () => {
    const cwd = await twoSkills();
    const { stdout } = await command(['doctor', '-m', 'demo', ...noServers, '--skills', 'skills'], { cwd });
    expect(stdout).toContain('skill pdf');
    expect(stdout).toContain('skill deploy');
    const broken = await files({ 'bad/SKILL.md': 'x' });
    const second = await command(['doctor', '-m', 'demo', ...noServers, '--skills', 'bad'], { cwd: broken });
    expect(second.code).toBe(1);
    expect(second.stdout).toContain('bad/SKILL.md:1:1: found no front matter');
  });

  test('an agent file names skills relative to itself', async () => {
    const root = await twoSkills();
    await writeFile(join(root, 'agent.json'), JSON.stringify({ llmModel: 'demo', skills: ['./skills'] }));
    const { stdout } = await command(['tools', '--agent', join(root, 'agent.json')]);
    expect(stdout).toContain('skill:pdf');
    await writeFile(join(root, 'wrong.json'), JSON.stringify({ skills: './skills' }));
    const { code, stderr } = await command(['tools', '--agent', join(root, 'wrong.json')]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('skills must be a list') });
  });
});

describe('AGENTS.md', () => {
  const ask = (cwd: string, ...args: string[]) => {
    providers.script('Hello.');
    return command([...SCRIPTED, ...noServers, ...args, 'Hi'], { cwd, env: scriptedBy(providers) });
  };

  test('is not read for a single prompt without --agents-md', async () => {
    const cwd = await files({ 'AGENTS.md': 'Speak like a pirate.' });
    await ask(cwd);
    expect(sent('system').join()).not.toContain('pirate');
    await ask(cwd, '--no-agents-md');
    expect(sent('system').join()).not.toContain('pirate');
    await ask(cwd, '--agents-md');
    expect(sent('system').join()).toMatch(
      /helpful assistant[\s\S]*AGENTS\.md of the working folder says:\n\nSpeak like a pirate\.$/,
    );
  });

  test('is added to the system prompt of an agent file', async () => {
    const cwd = await files({
      'AGENTS.md': 'Speak like a pirate.',
      'agent.json': JSON.stringify({ llmModel: 'openai-compatible/x', systemPrompt: 'You know books.' }),
    });
    await ask(cwd, '--agent', 'agent.json', '--agents-md');
    expect(sent('system').join()).toMatch(/^You know books\.[\s\S]*pirate/);
  });

  test.each([
    ['is missing', async (_path: string) => {}, '"AGENTS.md" does not exist'],
    [
      'leads out of the folder',
      (path: string) => symlink('/etc/hosts', path),
      '"AGENTS.md" is outside the working folder',
    ],
    ['is a pipe', async (path: string) => void execFileSync('mkfifo', [path]), '"AGENTS.md" is not a regular file'],
    ['is too large', (path: string) => writeFile(path, 'x'.repeat(100_001)), '"AGENTS.md" is too large'],
    ['is binary', (path: string) => writeFile(path, 'a\0b'), '"AGENTS.md" is a binary file'],
  ])('that %s is an error with --agents-md', async (_what, make, reason) => {
    const cwd = await files({});
    await make(join(cwd, 'AGENTS.md'));
    const { code, stderr } = await command(['-m', 'demo', '--agents-md', 'Hi'], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
  });

  test('cannot be both used and ignored', async () => {
    const { code, stderr } = await command(['-m', 'demo', '--agents-md', '--no-agents-md', 'Hi']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--agents-md or --no-agents-md') });
  });
});
