// Shows why a part of the page could not be drawn, so that the other parts stay.
import { Component, type ComponentChildren } from 'preact';

interface GuardedProps {
  /** What is drawn, for the message. */
  what: string;
  children: ComponentChildren;
}

export class Guarded extends Component<GuardedProps, { error?: string }> {
  static override getDerivedStateFromError(error: unknown): { error: string } {
    return { error: error instanceof Error ? error.message : String(error) };
  }

  override render({ what, children }: GuardedProps, { error }: { error?: string }): ComponentChildren {
    if (error === undefined) return children;
    return (
      <p class="problem" role="alert">
        {what} cannot be shown: {error}
      </p>
    );
  }
}
