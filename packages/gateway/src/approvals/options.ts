// The option `approvals`: where people are asked about calls, if the client that makes them cannot ask its user.
import {
  booleanRule,
  configError,
  type Logger,
  nonEmptyRule,
  type OptionRule,
  OptionSet,
  objectRule,
  positiveInteger,
  stringList,
} from '@pocket-agent/kit';
import { ChatDesk } from './chat-desk.ts';
import type { ApprovalDesk } from './desk.ts';
import { type DiscordApprovals, discordChat } from './discord.ts';
import { type MattermostApprovals, mattermostChat } from './mattermost.ts';

/** Who approves calls of clients without elicitation. All places are asked at once, and the first answer counts. */
export interface GatewayApprovals {
  /** Callers with `approves` list questions at `/approvals` and answer them. Needs `state`. Default false. */
  endpoint?: boolean;
  mattermost?: MattermostApprovals;
  discord?: DiscordApprovals;
  /** Ask these people also where the client supports elicitation, instead of its user. Default false. */
  always?: boolean;
}

const approvalOptions = new OptionSet<GatewayApprovals>('approvals', {
  endpoint: booleanRule,
  mattermost: objectRule,
  discord: objectRule,
  always: booleanRule,
});

const token: OptionRule = { ...nonEmptyRule, isSecret: true };
const id: OptionRule = {
  expected: 'an id, of letters and digits',
  accepts: (value) => typeof value === 'string' && /^[A-Za-z0-9]+$/.test(value),
};
const url: OptionRule = {
  expected: 'a URL that begins with https:// or http://',
  accepts: (value) => typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
};
const ofChat = { token, channel: id, approvers: stringList, pollMs: positiveInteger, url };
const mattermostOptions = new OptionSet<MattermostApprovals>('approvals.mattermost', ofChat);
const discordOptions = new OptionSet<DiscordApprovals>('approvals.discord', ofChat);

export function checkApprovals(approvals: GatewayApprovals, hasState: boolean): void {
  approvalOptions.check(approvals);
  const { endpoint, mattermost, discord } = approvals;
  if (endpoint && !hasState)
    throw configError(
      'approvals.endpoint of a gateway needs state, from openGatewayState(): questions are kept there.',
    );
  if (mattermost) checkChat(mattermostOptions, mattermost, ['url', 'token', 'channel']);
  if (discord) checkChat(discordOptions, discord, ['token', 'channel']);
  if (!endpoint && !mattermost && !discord)
    throw configError('approvals of a gateway needs a place where people are asked: endpoint, mattermost or discord.');
}

function checkChat<Options extends object>(
  set: OptionSet<Options>,
  options: Options,
  needed: readonly (keyof Options & string)[],
): void {
  set.check(options);
  const missing = needed.find((name) => options[name] === undefined);
  if (missing !== undefined) throw configError(`${set.owner} needs ${missing}.`);
}

export function chatDesks({ mattermost, discord }: GatewayApprovals, logger: Logger): ApprovalDesk[] {
  const settings = [
    ...(mattermost ? [{ ...mattermost, chat: mattermostChat(mattermost) }] : []),
    ...(discord ? [{ ...discord, chat: discordChat(discord) }] : []),
  ];
  return settings.map(({ chat, approvers, pollMs }) => new ChatDesk({ chat, approvers, pollMs, logger }));
}
