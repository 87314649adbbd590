// The logins of persons at servers, for programs of this repository that keep them in a database of their own. Not public: these
// names may change in any release.
export { CallerLogin } from './logins/caller-login.ts';
export { isLoginKey, KeptLogins, type LoginState } from './logins/kept-logins.ts';
