package config

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"failwise/check"
)

// Account is a user and the places where the password may be. It holds no
// password.
type Account struct {
	// User is "" if only an option file or the operating system can tell.
	User string
	// PasswordFile or PasswordCommand, at most one of them.
	PasswordFile    string
	PasswordCommand []string
	// Variable is the environment variable that may hold the password; it beats
	// the configuration, but not a flag.
	Variable string
	// OptionFile is an option file that was named; without one ~/.my.cnf is used.
	OptionFile string
	TLS        check.TLSOptions
	// FromFlag: the password's source was given by a flag. UserIsAFlag: so was
	// the user.
	FromFlag    bool
	UserIsAFlag bool

	monitor bool // option files and MYSQL_PWD are about this account
}

// Login is an account with its password.
type Login struct {
	User   string
	Secret check.Secret
	TLS    check.TLSOptions
	// Source says where the password came from, without the password.
	Source string
}

// Sources are the places an account's password may come from.
type Sources struct {
	// Environ is the environment as "name=value".
	Environ []string
	// Root: the process runs as the super-user, who needs no user name.
	Root bool
	// Prompt asks on the terminal; nil if the user did not ask to be asked.
	Prompt func(user string) (check.Secret, error)
	// Warn is told of secrets that others can read; nil drops it.
	Warn func(text string)
}

// maxSecret bounds a password file and a password command's output, in bytes.
const maxSecret = 64 << 10

// PasswordError says why a password's source could not be used. It never holds
// the password.
type PasswordError struct {
	Source string
	Err    error
}

func (e *PasswordError) Error() string { return e.Source + ": " + e.Err.Error() }

func (e *PasswordError) Unwrap() error { return e.Err }

// Resolve finds user and password. The first of these that is there counts: the
// prompt if it was asked for, a flag, the account's environment variable, the
// configuration's file or command, the option file, MYSQL_PWD. Without any the
// password is empty. It returns when ctx ends, also if a file or a command hangs.
func (a Account) Resolve(ctx context.Context, s Sources) (Login, error) {
	type answer struct {
		login Login
		err   error
	}
	answers := make(chan answer, 1)
	// A read from a dead network file system does not come back; it is left
	// behind.
	go func() {
		l, err := a.resolve(ctx, s)
		answers <- answer{l, err}
	}()
	select {
	case got := <-answers:
		return got.login, got.err
	case <-ctx.Done():
		return Login{}, &PasswordError{Source: a.source(), Err: ctx.Err()}
	}
}

// source names where the password is looked for first.
func (a Account) source() string {
	switch {
	case a.PasswordFile != "":
		return "password_file " + a.PasswordFile
	case len(a.PasswordCommand) > 0:
		return "password_command " + a.PasswordCommand[0]
	default:
		return "option file"
	}
}

func (a Account) resolve(ctx context.Context, s Sources) (Login, error) {
	login := Login{User: a.User, TLS: a.TLS}
	var options ClientOptions
	if a.monitor {
		var err error
		if options, err = a.options(s); err != nil {
			return Login{}, err
		}
		login.TLS = options.tls(a.TLS)
		if login.User == "" {
			login.User = options.User
		}
	}
	if login.User == "" {
		login.User = systemUser(s)
	}
	var err error
	switch variable := lookup(s.Environ, a.Variable); {
	case s.Prompt != nil:
		login.Source = "prompt"
		login.Secret, err = s.Prompt(login.User)
	case a.FromFlag:
		login.Secret, login.Source, err = a.configured(ctx, s)
	case a.Variable != "" && variable != "":
		login.Secret, login.Source = check.NewSecret(variable), "environment "+a.Variable
	case a.PasswordFile != "" || len(a.PasswordCommand) > 0:
		login.Secret, login.Source, err = a.configured(ctx, s)
	case options.HasPassword && (options.User == "" || options.User == login.User):
		login.Secret, login.Source = options.Password, options.PasswordFrom
	case a.monitor && lookup(s.Environ, "MYSQL_PWD") != "":
		login.Secret, login.Source = check.NewSecret(lookup(s.Environ, "MYSQL_PWD")), "environment MYSQL_PWD"
	default:
		login.Source = "none"
	}
	return login, err
}

// configured reads the password's file or runs its command.
func (a Account) configured(ctx context.Context, s Sources) (check.Secret, string, error) {
	source := a.source()
	if a.PasswordFile != "" {
		secret, err := readSecret(a.PasswordFile, s)
		if err != nil {
			return check.Secret{}, source, &PasswordError{Source: source, Err: plain(err)}
		}
		return secret, source, nil
	}
	out, err := runPasswordCommand(ctx, a.PasswordCommand, s.Environ)
	if err != nil {
		return check.Secret{}, source, &PasswordError{Source: source, Err: err}
	}
	return firstLine(out), source, nil
}

// readSecret reads the first line of a file.
func readSecret(path string, s Sources) (check.Secret, error) {
	file, err := os.Open(path)
	if err != nil {
		return check.Secret{}, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	s.warnIfReadable(file)
	text, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil {
		return check.Secret{}, err
	}
	if len(text) > maxSecret {
		return check.Secret{}, fmt.Errorf("longer than %d bytes", maxSecret)
	}
	return firstLine(text), nil
}

// warnIfReadable tells of a file with a password that every user can read.
func (s Sources) warnIfReadable(file *os.File) {
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0 && s.Warn != nil {
		s.Warn(fmt.Sprintf("%s holds a password and every user can read it; chmod o-r it", file.Name()))
	}
}

// firstLine is the password in a text: its first line without the line end.
func firstLine(text []byte) check.Secret {
	line, err := bufio.NewReader(bytes.NewReader(text)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return check.Secret{}
	}
	return check.NewSecret(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
}

// plain drops the path from an error of the file system: it stands in the text
// already.
func plain(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// options reads the option file: the one that was named, or ~/.my.cnf if it is
// there.
func (a Account) options(s Sources) (ClientOptions, error) {
	path, named := a.OptionFile, a.OptionFile != ""
	if !named {
		h := home(s.Environ)
		if h == "" {
			return ClientOptions{}, nil
		}
		path = filepath.Join(h, ".my.cnf")
	}
	o, err := ReadOptionFile(path, s)
	if !named && errors.Is(err, os.ErrNotExist) {
		return ClientOptions{}, nil
	}
	return o, err
}

// systemUser is who the mysql client would log in as (libmysqlclient,
// read_user_name), without asking a directory service that may hang.
func systemUser(s Sources) string {
	if s.Root {
		return "root"
	}
	for _, name := range []string{"USER", "LOGNAME"} {
		if user := lookup(s.Environ, name); user != "" {
			return user
		}
	}
	return "mysql"
}
