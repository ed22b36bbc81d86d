import type { NotifyTarget } from '../../base/config/notify-settings.ts';
import { isLoopback } from '../../base/link-local.ts';
import { excerpt, type Send, unanswered } from './deliver.ts';

/** An e-mail, as plain text and as HTML. */
export interface Mail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Returns the function that sends an e-mail by SMTP. The connection is encrypted, except on loopback. */
export function mailSender({ url, mail }: NotifyTarget, { id, ...contents }: Mail & { readonly id: string }): Send {
  return async (timeoutMs, signal) => {
    const { createTransport } = await import('nodemailer');
    const isPrivate = isLoopback(new URL(`https://${url.host}`));
    const transport = createTransport({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      ...(url.port === '' ? {} : { port: Number(url.port) }),
      secure: url.protocol === 'smtps:',
      requireTLS: !isPrivate,
      ...(url.username === ''
        ? {}
        : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const stop = (): void => transport.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const { to = [], from = '' } = mail ?? {};
      // Equal ids let mailboxes recognize a message that is sent again.
      const sent = await transport.sendMail({ ...contents, from, to: [...to], messageId: `<${id}@sightline>` });
      return {
        isDelivered: true,
        mayRetry: false,
        status: statusOf(sent.response),
        said: `answered ${excerpt(sent.response)}`,
        waitMs: 0,
      };
    } catch (thrown) {
      if (signal.aborted) return unanswered('it was stopped');
      const { responseCode: status, response = '', message } = thrown as SmtpError;
      if (status === undefined) return unanswered(`could not be reached (${excerpt(message)})`);
      // https://www.rfc-editor.org/rfc/rfc5321#section-4.2.1: 4yz is transient, 5yz permanent.
      return { isDelivered: false, mayRetry: status < 500, status, said: `answered ${excerpt(response)}`, waitMs: 0 };
    } finally {
      signal.removeEventListener('abort', stop);
      transport.close();
    }
  };
}

interface SmtpError extends Error {
  readonly responseCode?: number;
  readonly response?: string;
}

// A response begins with its status.
function statusOf(response: string): number {
  return Number(response.slice(0, 3));
}
