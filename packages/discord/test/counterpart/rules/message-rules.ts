// Discord's rules for messages.
import {
  type APIEmbed,
  MessageFlags,
  type RESTAPIPoll,
  type RESTPostAPIChannelMessageJSONBody,
} from 'discord-api-types/v10';
import { emptyMessage, invalidForm, tooLarge } from '../state/api-error.ts';
import type { UploadedFile } from '../state/records.ts';
import { checkComponents } from './component-rules.ts';
import { Form } from './form.ts';

export type MessageBody = RESTPostAPIChannelMessageJSONBody;

const MESSAGE_LENGTH = 2000;
const EMBED_TOTAL = 6000;
const FILES = 10;

export function checkMessage(body: MessageBody): void {
  const form = new Form();
  const v2 = ((body.flags ?? 0) & MessageFlags.IsComponentsV2) !== 0;
  form.text('content', body.content, { max: MESSAGE_LENGTH });
  checkEmbeds(form, body.embeds ?? []);
  checkComponents(form, body.components ?? [], v2);
  if (v2 && (body.content || body.embeds?.length || body.poll)) {
    form.refuse(
      body.content ? 'content' : 'embeds',
      'MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2: The field cannot be used when using MessageFlags.IS_COMPONENTS_V2',
    );
  }
  if (body.poll) checkPoll(form, body.poll);
  form.done();
}

/** A message must have visible content. */
export function checkNotEmpty({
  content,
  lists,
}: {
  content: string | null | undefined;
  lists: (readonly unknown[] | undefined)[];
}): void {
  if (!content?.trim() && lists.every((list) => !list?.length)) throw emptyMessage();
}

export function checkFiles(files: readonly UploadedFile[], maxFileBytes: number): void {
  if (files.length > FILES) throw invalidForm({ files: 'BASE_TYPE_MAX_LENGTH: Must be 10 or fewer in length.' });
  if (files.some((file) => file.bytes.length > maxFileBytes)) throw tooLarge();
}

function checkEmbeds(form: Form, embeds: readonly APIEmbed[]): void {
  form.list('embeds', embeds, { max: 10 });
  let total = 0;
  embeds.forEach((embed, index) => {
    const path = `embeds.${index}`;
    const texts: [string, string | undefined, number][] = [
      ['title', embed.title, 256],
      ['description', embed.description, 4096],
      ['footer.text', embed.footer?.text, 2048],
      ['author.name', embed.author?.name, 256],
    ];
    for (const [name, text, max] of texts) form.text(`${path}.${name}`, text, { max });
    const fields = embed.fields ?? [];
    form.list(`${path}.fields`, fields, { max: 25 });
    fields.forEach((field, position) => {
      form.text(`${path}.fields.${position}.name`, field.name, { min: 1, max: 256 });
      form.text(`${path}.fields.${position}.value`, field.value, { min: 1, max: 1024 });
    });
    form.integer(`${path}.color`, embed.color, { min: 0, max: 0xffffff });
    for (const [, text = ''] of texts) total += text.length;
    for (const field of fields) total += String(field.name).length + String(field.value).length;
  });
  if (total > EMBED_TOTAL) {
    form.refuse('embeds', 'MAX_EMBED_SIZE_EXCEEDED: Embed size exceeds maximum size of 6000');
  }
}

function checkPoll(form: Form, poll: RESTAPIPoll): void {
  form.text('poll.question.text', poll.question.text, { min: 1, max: 300 });
  form.list('poll.answers', poll.answers, { min: 1, max: 10 });
  poll.answers.forEach((answer, index) => {
    form.text(`poll.answers.${index}.poll_media.text`, answer.poll_media.text, { min: 1, max: 55 });
  });
  form.integer('poll.duration', poll.duration, { min: 1, max: 768 });
}
