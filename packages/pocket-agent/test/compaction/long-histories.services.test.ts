// Conversations of 2,000 turns, which take some seconds each; shorter ones: long-histories.test.ts.
import { test } from 'vitest';
import { converse } from './long-conversation.ts';

test.each([1, 2, 3])('2,000 turns in a row are compacted again and again (seed %i)', (seed) =>
  converse({ turns: 2_000, seed }),
);
