// Instructions for a start without a token.

export const SETUP_STEPS = `pocket-discord needs the token of a Discord bot. Five steps:

1. Open https://discord.com/developers/applications and press "New Application".
2. Under "Bot" turn on "Message Content Intent".
3. Press "Reset Token" there and copy the token.
4. Under "Installation" choose User Install, and Guild Install with the scopes bot and applications.commands and the permissions
   View Channels, Send Messages, Send Messages in Threads, Read Message History, Attach Files, Embed Links,
   Add Reactions and Create Polls. Open the install link and add the bot to your server.
5. Start it again with the token and a model:

   DISCORD_TOKEN=… POCKET_DISCORD_MODELS=anthropic/claude-sonnet-5 ANTHROPIC_API_KEY=… npm run discord

To try it without an account: npm run discord:demo
`;
