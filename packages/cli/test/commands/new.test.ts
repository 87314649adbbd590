import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CommandFolder } from '../fixtures/command.ts';
import { newProject, root, templates, version, workingFolder } from '../fixtures/projects.ts';

const folder = new CommandFolder();
const filesIn = (project: string) =>
  globSync('**', { cwd: project, withFileTypes: true }).filter((file) => file.isFile());
const read = (project: string, file: string) => readFileSync(join(project, file), 'utf8');

interface Service {
  image?: string;
  env_file?: string;
  environment?: Record<string, string>;
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  volumes?: string[];
}

describe.each(['agent', 'bot'])('compose.yaml of the template %s', (template) => {
  const open = async () => {
    const project = await newProject(folder, template);
    const compose = parse(read(project, 'compose.yaml')) as { services: Record<string, Service>; volumes: object };
    const { [template]: app, ...others } = compose.services;
    if (!app) throw new Error(`There is no service ${template}.`);
    const sources = globSync('*.ts', { cwd: project }).map((file) => read(project, file));
    return { project, compose, app, others, dockerfile: read(project, 'Dockerfile'), code: sources.join('\n') };
  };

  test('gives the program variables that it reads', async () => {
    const { project, app, code } = await open();
    const given = read(project, app.env_file ?? '').match(/^(# )?\w+(?==)/gm) ?? [];
    const names = [...given.map((name) => name.replace('# ', '')), ...Object.keys(app.environment ?? {})];
    // those of the database belong to compose.yaml, those of Mattermost and of providers to the packages
    const ours = names.filter((name) => !/^(POSTGRES|MATTERMOST|ANTHROPIC)_/.test(name));
    expect(ours).toContain('DATABASE_URL');
    expect(ours.filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([]);
  });

  test('uses variables that .env sets', async () => {
    const { project } = await open();
    const used = read(project, 'compose.yaml').matchAll(/\$\{(\w+)\}/g);
    const env = read(project, '.env');
    for (const [, name] of used) expect(env).toMatch(new RegExp(`^${name}=.{16,}$`, 'm'));
  });

  test('waits for services that exist and say when they are healthy', async () => {
    const { app, others } = await open();
    expect(Object.keys(app.depends_on ?? {}).sort()).toEqual(Object.keys(others).sort());
    for (const { healthcheck } of Object.values(others)) expect(healthcheck?.test[0]).toBe('CMD');
  });

  test('names the database, its user and its password in the same way on both sides', async () => {
    const { app, others, compose } = await open();
    const url = new URL(app.environment?.DATABASE_URL?.replace(/\$\{\w+\}/, 'secret') ?? '');
    const { environment, healthcheck, volumes = [] } = others.postgres ?? {};
    expect(environment).toEqual({
      POSTGRES_USER: url.username,
      POSTGRES_DB: url.pathname.slice(1),
      POSTGRES_PASSWORD: /\$\{\w+\}/.exec(app.environment?.DATABASE_URL ?? '')?.[0],
    });
    expect([url.protocol, url.hostname, url.port]).toEqual(['postgres:', 'postgres', '5432']);
    expect(healthcheck?.test).toContain(url.username);
    expect(volumes.map((volume) => volume.split(':')[0])).toEqual(Object.keys(compose.volumes));
    const redis = app.environment?.REDIS_URL;
    if (redis !== undefined) expect(others).toHaveProperty(new URL(redis).hostname);
  });

  test('publishes the port of the image to this machine only, and the image starts a file that it has', async () => {
    const { project, app, dockerfile } = await open();
    const port = /\bPORT=(\d+)/.exec(dockerfile)?.[1];
    expect(app.ports).toEqual(port === undefined ? undefined : [`127.0.0.1:${port}:${port}`]);
    expect(/^EXPOSE (\d+)$/m.exec(dockerfile)?.[1]).toBe(port);
    const [, program = ''] = /^CMD \["node", "([^"]+)"/m.exec(dockerfile) ?? [];
    expect(existsSync(join(project, program))).toBe(true);
    expect(dockerfile).toMatch(/^USER node$/m);
  });
});

describe.each(templates)('pocket-agent new --template %s', (template) => {
  test('writes the files of a project, with its name in place of that of the template', async () => {
    const project = await newProject(folder, template);
    const expected = ['agent.ts', 'agent.test.ts', 'mcp.json', 'Dockerfile', '.dockerignore', '.gitignore', '.env']
      .concat(['.github/workflows/ci.yml', 'README.md', 'tsconfig.json', 'tools/Shop/manifest.yaml', 'eval.yaml'])
      .concat(template === 'mcp-server' ? [] : ['compose.yaml']);
    expect(expected.filter((file) => !existsSync(join(project, file)))).toEqual([]);
    expect(JSON.parse(read(project, 'package.json')).name).toBe('corner-shop');
    const texts = filesIn(project).map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'));
    expect(texts.join('\n')).not.toMatch(/my-project|new-secret/);
  });

  test('installs Pocket Agent from tarballs in the project', async () => {
    const project = await newProject(folder, template);
    const manifest = JSON.parse(read(project, 'package.json'));
    expect(Object.keys(manifest.devDependencies)).toContain('@pocket-agent/cli');
    const dependencies: Record<string, string> = { ...manifest.dependencies, ...manifest.devDependencies };
    const own = Object.keys(dependencies).filter((name) => name.includes('pocket-agent'));
    const files = own.map((name) => `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
    expect(own.map((name) => dependencies[name])).toEqual(files.map((file) => `file:tarballs/${file}`));
    expect((await readdir(join(project, 'tarballs'))).sort()).toEqual(files.sort());
    expect(read(project, 'Dockerfile')).toContain('COPY tarballs ./tarballs\n');
  });

  test('makes secrets of its own, which only the owner can read, and which git and Docker ignore', async () => {
    const project = await newProject(folder, template);
    const secrets = read(project, '.env').match(/[0-9a-f]{48}/g) ?? [];
    const others = read(await newProject(folder, template), '.env').match(/[0-9a-f]{48}/g) ?? [];
    expect(secrets.length).toBeGreaterThan(0);
    expect(new Set([...secrets, ...others]).size).toBe(2 * secrets.length);
    expect(statSync(join(project, '.env')).mode & 0o777).toBe(0o600);
    for (const file of ['.gitignore', '.dockerignore']) expect(read(project, file).split('\n')).toContain('.env');
  });

  test('gives compose.yaml only variables that are in .env', async () => {
    const project = await newProject(folder, template);
    if (template === 'mcp-server') return expect(existsSync(join(project, 'compose.yaml'))).toBe(false);
    const used = [...read(project, 'compose.yaml').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name);
    expect(used).toContain('POSTGRES_PASSWORD');
    for (const name of used) expect(read(project, '.env')).toMatch(new RegExp(`^${name}=.`, 'm'));
  });
});

describe('pocket-agent new', () => {
  test('makes an agent without --template', async () => {
    const cwd = await workingFolder(folder);
    await folder.command(['new', 'corner-shop', '--tarballs', 'tarballs'], { cwd });
    expect(existsSync(join(cwd, 'corner-shop/serve.ts'))).toBe(true);
  });

  test.each([
    ['a name with capital letters', ['Corner'], 'start with a lower-case letter'],
    ['a path', ['../corner'], 'start with a lower-case letter'],
    ['the name of a package that it needs', ['pocket-agent'], 'npm does not install a package into itself'],
    ['an unknown template', ['corner', '--template', 'blog'], 'Available: agent, mcp-server, bot.'],
    ['no name', [], 'Give one name: pocket-agent new NAME'],
  ])('refuses %s', async (_, args, text) => {
    const cwd = await workingFolder(folder);
    const { code, stderr } = await folder.command(['new', '--tarballs', 'tarballs', ...args], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(text);
    expect(await readdir(cwd)).toEqual(['tarballs']);
  });

  test('does not touch a folder that exists', async () => {
    const cwd = await workingFolder(folder);
    await mkdir(join(cwd, 'corner-shop'));
    const { code, stderr } = await folder.command(['new', 'corner-shop', '--tarballs', 'tarballs'], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain('it already exists; choose another name');
    expect(await readdir(join(cwd, 'corner-shop'))).toEqual([]);
  });

  test('names missing tarballs and how to make them, and leaves no folder', async () => {
    const cwd = await workingFolder(folder);
    await rm(join(cwd, 'tarballs', `pocket-agent-store-${version}.tgz`));
    const { code, stderr } = await folder.command(['new', 'corner-shop', '--tarballs', 'tarballs'], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(`does not contain pocket-agent-store-${version}.tgz. Run npm run pack`);
    expect(await readdir(cwd)).toEqual(['tarballs']);
  });

  test('writes to the folder of the user when npm start runs it in the checkout', async () => {
    const cwd = await workingFolder(folder);
    const env = { npm_lifecycle_event: 'start', INIT_CWD: cwd };
    const { stdout } = await folder.spawned(['new', 'corner-shop', '--tarballs', 'tarballs'], { cwd: root, env });
    expect(stdout).toBe(`${join(cwd, 'corner-shop')}\n`);
  });

  test('names the folder of the user if it is gone when npm start runs in the checkout', async () => {
    const gone = join(await workingFolder(folder), 'gone');
    const env = { npm_lifecycle_event: 'start', INIT_CWD: gone };
    const { code, stdout, stderr } = await folder.spawned(['tools'], { cwd: root, env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(
      `pocket-agent: The folder ${gone}, where npm was run, does not exist or cannot be entered. Run it in another folder.\n`,
    );
  });

  test.each(['start', 'studio'])(
    'reads files of the folder of the user when npm runs %s in the checkout',
    async (script) => {
      const cwd = await workingFolder(folder);
      await writeFile(join(cwd, 'off.json'), JSON.stringify({ mcpServers: { off: { command: 'x', disabled: true } } }));
      const env = { npm_lifecycle_event: script, INIT_CWD: cwd };
      const { stderr } = await folder.spawned(['tools', '--mcp', './off.json'], { cwd: root, env });
      expect(stderr).toBe('No servers and no tool folders.\n');
    },
  );
});
