// Starts the page.
import { render } from 'preact';
import { App } from './app.tsx';
import { Connection, takeToken } from './connection.ts';
import { StudioContext } from './parts/hooks.ts';
import { Store } from './state/store.ts';

const store = new Store();
const connection = new Connection(takeToken());
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
