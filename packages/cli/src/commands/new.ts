// The command `pocket-agent new`: creates a project with an agent, a tool folder, tests and a Dockerfile.
import { PocketError } from '@pocket-agent/kit';
import { readArguments } from '../command-line/arguments.ts';
import { templateNamed } from '../project/templates.ts';
import { writeProject } from '../project/write-project.ts';

const DEFAULT_TEMPLATE = 'agent';

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, { template: { type: 'string' }, tarballs: { type: 'string' } });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) {
    throw new PocketError('CONFIG_INVALID', 'Give one name: pocket-agent new NAME');
  }
  const template = templateNamed(values.template ?? DEFAULT_TEMPLATE);
  const path = await writeProject({ name, template, directory: process.cwd(), tarballs: values.tarballs });
  process.stdout.write(`${path}\n`);
  process.stderr.write(`Try it, with Node 24 or newer:
  cd ${name} && npm install && npm test
  npm run ask -- "When do you open on Monday?"
README.md of the project says how to use a real model and how to deploy it.
`);
  return 0;
}
