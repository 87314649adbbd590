// The front matter of SKILL.md, as the Agent Skills specification defines it.
import { capabilities } from 'pocket-agent/internal';
import { z } from 'zod';
import { describedSchema } from '../manifest/described-schema.ts';

/** Lowercase letters, digits and single hyphens. The specification allows letters of every script. */
const SKILL_NAME = /^[\p{Ll}\p{Lo}\p{N}]+(?:-[\p{Ll}\p{Lo}\p{N}]+)*$/u;

const text = (max: number) => z.string().trim().min(1).max(max);

const frontMatter = z
  .looseObject({
    name: z
      .string()
      .normalize('NFKC')
      .max(64)
      .regex(SKILL_NAME)
      .describe('a name of 1 to 64 lowercase letters, digits and single hyphens, such as pdf-forms'),
    description: text(1_024).describe(
      'a description of 1 to 1024 characters: what the skill does and when to use it (in quotes if it contains ": ")',
    ),
    license: z.string().describe('the name of a license, or of a file with its text').optional(),
    compatibility: text(500).describe('what the skill needs, in 1 to 500 characters').optional(),
    metadata: z
      .looseObject({
        capability: z
          .enum(capabilities)
          .describe(`one of ${capabilities.join(', ')}`)
          .optional(),
      })
      .describe('a mapping of names to strings')
      .optional(),
    'allowed-tools': z
      .union([z.string(), z.array(z.string())])
      .describe('names of tools in one string, separated by spaces')
      .optional(),
  })
  .describe('a mapping with name and description');

export type FrontMatter = z.infer<typeof frontMatter>;

export const skillSchema = describedSchema<FrontMatter>(frontMatter);
