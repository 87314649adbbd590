// Starts the page.
import { render } from 'preact';
import { App } from './app.tsx';
import { Connection, takeToken } from './connection.ts';
import { StudioContext } from './parts/hooks.ts';
import { moveInList } from './parts/list-keys.ts';
import { showTheme } from './parts/theme.ts';
import { Store } from './state/store.ts';

showTheme();
addEventListener('keydown', moveInList);
const store = new Store();
const connection = new Connection(await takeToken());
void connection.follow(
  (lines) => store.add(lines),
  (state) => store.setConnection(state),
);
render(
  <StudioContext.Provider value={{ store, connection }}>
    <App />
  </StudioContext.Provider>,
  document.body,
);
