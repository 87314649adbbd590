// The page to sign in with an owner token. Works without scripts.
import { html } from 'hono/html';
import { type Html, page } from './layout.ts';

interface SignInOptions {
  /** The path to go to afterwards. */
  next: string;
  problem?: string;
}

export function signInPage({ next, problem }: SignInOptions): Html {
  return page({
    viewer: undefined,
    title: 'Sign in · Agent3',
    content: html`
      <div class="narrow">
        <h1>Sign in</h1>
        <p class="soft">With an owner token of this hub. Its operator creates one: <code>agent3 token OWNER</code></p>
        <form class="panel sent" action="/sign-in" method="post">
          <input type="hidden" name="next" value="${next}">
          <label class="field">Owner token <input type="password" name="token" autocomplete="current-password" placeholder="a3_…" required></label>
          ${problem === undefined ? '' : html`<p class="problem" role="alert">${problem}</p>`}
          <button>Sign in</button>
        </form>
        <p class="soft small">The token is kept in a cookie that ends with the browser session and that scripts cannot read.</p>
      </div>`,
  });
}

/** Only paths of this hub. */
export function nextPath(text: string | undefined): string {
  return text !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(text) ? text : '/account';
}
