// What the option `callbacks` adds to a bot: buttons for approvals, and settings by channel with their slash command.
import type { ToolContext } from '../../account/account.ts';
import type { Log } from '../../base/log.ts';
import { ApprovalButtons } from './approval-buttons.ts';
import { type CallbackOptions, CallbackServer } from './callback-server.ts';
import { ChannelSettings } from './channel-settings.ts';
import { answerSettingsCommand } from './settings-command.ts';

export interface BotCallbacks {
  buttons: ApprovalButtons;
  settings: ChannelSettings;
  close(): Promise<void>;
}

interface CallbackParts {
  options: CallbackOptions;
  context: ToolContext;
  log: Log;
  /** Id of the account. */
  me: string;
  /** The token of the account, which signs buttons: they stay valid over a restart. */
  token: string;
  /** Answers an approval; undefined if the question is not open. */
  decide(question: string, userId: string, isAllowed: boolean): Promise<string | undefined>;
}

export async function openCallbacks({
  options,
  context,
  log,
  me,
  token,
  decide,
}: CallbackParts): Promise<BotCallbacks> {
  const settings = await ChannelSettings.read(context.api, me);
  const server = await CallbackServer.open(
    options,
    {
      async click({ userId, context: stored }) {
        const pressed = buttons.read(stored);
        if (!pressed) {
          log.warning('click_refused', { user_id: userId });
          return 'This button is not valid.';
        }
        const text = await decide(pressed.question, userId, pressed.isAllowed);
        return text ?? 'This question is no longer open.';
      },
      command: (command) => answerSettingsCommand(context, settings, command),
    },
    log,
  );
  const buttons = new ApprovalButtons({ url: server.url, secret: token });
  log.info('callbacks', { url: server.url, command: options.commandToken !== undefined });
  return { buttons, settings, close: () => server.close() };
}
